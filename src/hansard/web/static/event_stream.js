// The server's event stream, opened again when it breaks.
const RETRY = 2000; // milliseconds

/** Pass the states of the store on to `tell`, and `{ lost }` while there is no server; returns what ends it. */
export function listen(tell) {
  let source = null;
  let timer = null;
  let isOver = false;

  function open() {
    source = new EventSource("/api/events");
    source.addEventListener("revision", (event) => tell(JSON.parse(event.data)));
    source.addEventListener("error", () => {
      source.close();
      tell({ lost: "gone" });
      again();
    });
  }

  function again() {
    if (!isOver) timer = setTimeout(look, RETRY);
  }

  // A server that was started anew wants a new login.
  async function look() {
    try {
      const answer = await fetch("/api/revision", { cache: "no-store", redirect: "error" });
      if (answer.ok && !isOver) { open(); return; }
      if (answer.status === 401 || answer.status === 421) tell({ lost: "restarted" });
    } catch {} // still gone
    again();
  }

  open();
  return () => {
    isOver = true;
    clearTimeout(timer);
    source.close();
  };
}

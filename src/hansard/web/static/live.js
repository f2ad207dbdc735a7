// News from the server: one stream for the page, opened again by the browser when it breaks, closed while the page is hidden.
const listeners = new Set();
let source = null;
let last = null;

function open() {
  if (source || document.hidden || !listeners.size) return;
  source = new EventSource("/api/events");
  source.addEventListener("revision", (event) => {
    const { revision, syncing, trouble } = JSON.parse(event.data);
    show(syncing, trouble);
    const isNews = last !== null && revision !== last;
    last = revision;
    if (isNews) for (const listener of listeners) listener(revision);
  });
}

/** What base.html says when it is drawn, as it changes. */
function show(syncing, trouble) {
  const standing = document.getElementById("standing");
  if (!standing) return;
  standing.hidden = !syncing && !trouble;
  standing.classList.toggle("bad", Boolean(trouble));
  const words = trouble ? `Not kept up to date: ${trouble}` : syncing ? "The history is being read; what is there so far is shown." : "";
  if (standing.textContent !== words) standing.textContent = words;
}

function close() {
  source?.close();
  source = null;
}

document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
addEventListener("pagehide", close);
addEventListener("pageshow", open);

/** Call back whenever the store has changed since this page was drawn with `revision`. */
export function onNews(listener, revision = null) {
  if (last === null) last = revision;
  listeners.add(listener);
  open();
}

// A form whose answer is drawn by the server and put into the page: as one types, without older answers overtaking newer ones.

/** HTML that our server drew, as nodes. */
export function nodes(html) {
  const made = document.createElement("template");
  made.innerHTML = html;
  return made.content;
}

/** A piece of HTML from an address; an error is thrown with the words of the page that came instead. */
export async function piece(address, signal) {
  const answer = await fetch(address, { signal, headers: { accept: "text/html" } });
  const text = await answer.text();
  if (!answer.ok) throw new Error(nodes(text).querySelector(".lead")?.textContent ?? answer.statusText);
  return text;
}

/** What a form asks for, without what is empty. */
export function wished(form) {
  const asked = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (String(value).trim()) asked.append(name, value);
  return asked;
}

export function address(path, asked) {
  const text = String(asked);
  return text ? `${path}?${text}` : path;
}

/** Keep `draw` up with a form: `look(asked, signal)` gives the HTML of an answer. */
export function follow(form, { wait = 180, look, draw, failed }) {
  let timer = 0;
  let running = null;
  async function now({ keep = true } = {}) {
    clearTimeout(timer);
    running?.abort();
    running = new AbortController();
    const { signal } = running;
    const asked = wished(form);
    if (keep) history.replaceState(history.state, "", address(location.pathname, asked));
    try {
      const html = await look(asked, signal);
      if (!signal.aborted) draw(html, asked);
    } catch (error) {
      if (error.name !== "AbortError" && !signal.aborted) failed(error);
    }
  }
  form.addEventListener("input", (event) => {
    clearTimeout(timer);
    timer = setTimeout(now, event.target.matches("[type=search], [type=text], :not([type])") && event.target.matches("input") ? wait : 0);
  });
  form.addEventListener("submit", (event) => { event.preventDefault(); now(); });
  return { now };
}

/** Links that go on with a list: [data-more] is replaced by what its address gives, with `part` added to it. */
export function goOn(root, part, drawn = () => {}) {
  root.addEventListener("click", async (event) => {
    const more = event.target.closest?.("[data-more]");
    if (!more || event.ctrlKey || event.metaKey || event.shiftKey || !event.target.closest("a")) return;
    event.preventDefault();
    if (more.ariaBusy === "true") return;
    more.ariaBusy = "true";
    try {
      const fresh = nodes(await piece(part(more.dataset.more)));
      const first = fresh.querySelector("[data-row] a, tr[data-session] a, a");
      more.replaceWith(fresh);
      first?.focus({ preventScroll: true });
      drawn();
    } catch (error) {
      more.ariaBusy = null;
      (await import("./app.js")).say(error.message);
    }
  });
}

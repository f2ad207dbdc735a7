// A form whose answer is drawn by the server and put into the page: as one types, without older answers overtaking newer ones,
// and with Back and Forward through what was asked.
import { REST, latest } from "./latest.js";
import { goTo, keepOpened, start } from "./page_history.js";

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

/** Set a form to what an address asks for. */
function fill(form, asked) {
  for (const field of form.elements) {
    if (!field.name) continue;
    const value = asked.get(field.name) ?? "";
    if (field.type === "radio") field.checked = field.value === value;
    else if (field.type === "checkbox") field.checked = field.value === value;
    else field.value = value;
  }
}

const SETTLED = 2000; // milliseconds after which more letters are another search

/**
 * Keep a list up with its form and its address. `look(asked, signal)` fetches an answer and `draw(answer, asked)` shows it; `open` is
 * what goOn gives. Typing makes one entry of the history, however many letters it takes; each other change makes one.
 */
export function follow(form, { look, draw, failed, open = () => {} }) {
  const asking = latest(look, draw, failed);
  let timer = 0;
  let typing = 0; // the timer that ends it
  const settle = () => { clearTimeout(typing); typing = 0; };

  function now({ isTyping = false } = {}) {
    clearTimeout(timer);
    const asked = wished(form);
    const there = address(location.pathname, asked);
    if (there !== location.pathname + location.search) {
      goTo(there, { replace: isTyping && typing > 0 });
      entries.moved();
    }
    settle();
    if (isTyping) typing = setTimeout(settle, SETTLED);
    return asking.now(asked);
  }

  const entries = start(() => {
    clearTimeout(timer);
    settle();
    const asked = new URLSearchParams(location.search);
    fill(form, asked);
    return asking.now(wished(form));
  }, open);
  form.addEventListener("input", (event) => {
    const isTyping = event.target.matches("input:not([type=checkbox], [type=radio])");
    clearTimeout(timer);
    asking.stop();
    timer = setTimeout(() => now({ isTyping }), isTyping ? REST : 0);
  });
  form.addEventListener("change", (event) => { if (event.target.matches("input")) settle(); });
  form.addEventListener("submit", (event) => { event.preventDefault(); now(); });
  return { now };
}

/** Links that go on with a list: [data-more] is replaced by what its address gives, by `part`. Gives what opens one by its address. */
export function goOn(root, part, drawn = () => {}) {
  async function open(href) {
    const more = [...root.querySelectorAll("[data-more]")].find((one) => one.dataset.more === href);
    if (!more || more.ariaBusy === "true") return null;
    more.ariaBusy = "true";
    try {
      const fresh = nodes(await piece(part(href)));
      const first = fresh.querySelector("[data-row] a, tr[data-session] a, a");
      more.replaceWith(fresh);
      keepOpened(href);
      drawn();
      return first;
    } catch (error) {
      more.ariaBusy = null;
      (await import("./app.js")).say(error.message);
      return null;
    }
  }

  root.addEventListener("click", async (event) => {
    const more = event.target.closest?.("[data-more]");
    if (!more || event.ctrlKey || event.metaKey || event.shiftKey || !event.target.closest("a")) return;
    event.preventDefault();
    (await open(more.dataset.more))?.focus({ preventScroll: true });
  });
  return open;
}

// The search box of every page: sessions by title and the best places in their text while one types; Enter searches everything.
import { combobox } from "./combobox.js";
import { latest } from "./latest.js";

/** What the server finds for some words, for this box and for the palette. */
export async function lookUp(typed, signal) {
  const answer = await fetch(`/search/palette?${new URLSearchParams(typed ? { q: typed } : {})}`, { signal });
  if (!answer.ok) throw new Error(answer.statusText);
  return answer.json();
}

export const sessionItem = ({ session_id: id, title, project, when }) => ({ id, name: title, hint: `${project} · ${when}`, open: `/sessions/${encodeURIComponent(id)}` });
export const textItem = ({ pieces, title, speaker, open }) => ({ name: pieces.map(([text]) => text).join(""), pieces, hint: `${speaker} · ${title}`, open });
export const searchItem = (typed) => ({ name: `Search everything for “${typed}”`, open: `/search?q=${encodeURIComponent(typed)}` });

export function startQuick(field) {
  const list = document.createElement("ul");
  Object.assign(list, { id: "quick-list", className: "options quick-list" });
  field.after(list);
  const box = combobox(field, list, {
    label: "Sessions and text",
    take: ({ open }, elsewhere) => { if (elsewhere) window.open(open, "_blank", "noopener"); else location.href = open; },
  });
  const asking = latest(lookUp, ({ sessions, texts }, typed) => {
    if (document.activeElement !== field) return;
    box.draw([["Sessions", sessions.map(sessionItem)], ["Text", texts.map(textItem)], ["Search", [searchItem(typed)]]].filter(([, found]) => found.length));
  }, () => box.close());

  function close() {
    asking.stop();
    box.close();
  }

  field.addEventListener("input", () => {
    const typed = field.value.trim();
    if (typed.length < 2) close(); else asking.soon(typed);
  });
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || list.hidden) return;
    event.preventDefault(); // it closes the list, and leaves the text and the focus
    close();
  });
}

// Keyboard shortcuts: single keys, sequences and Ctrl, each with its description; j and k move through the rows of a list.
const known = new Map();
let waiting = "";
let timer = 0;

export function isTyping(target) {
  const field = target.closest?.("input, select, textarea, [contenteditable=true]");
  return Boolean(field) && !field.matches("[type=checkbox], [type=radio], [type=submit], [type=button]");
}

export const keys = {
  /** "g s", "j", "Ctrl+k": what it does, and the words for the list of keys. */
  on(name, action, what) { known.set(name, { action, what }); },
  run(name) { known.get(name)?.action(); },
  listed() { return [...known].filter(([, { what }]) => what).map(([name, { what }]) => [name, what]); },
};

document.addEventListener("keydown", (event) => {
  const withControl = event.ctrlKey || event.metaKey;
  if (event.altKey || event.isComposing || event.defaultPrevented) return;
  if (withControl) {
    const hit = known.get(`Ctrl+${event.key.toLowerCase()}`);
    if (hit) { event.preventDefault(); hit.action(event); }
    return;
  }
  if (event.key === "Escape" && isTyping(event.target)) {
    // A search box that has text is cleared by the browser and keeps the focus: what is typed next belongs into it.
    if (!event.target.matches("[type=search]") || !event.target.value) event.target.blur();
    return;
  }
  if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
  const hit = known.get(waiting ? `${waiting} ${event.key}` : event.key);
  clearTimeout(timer);
  const before = waiting;
  waiting = "";
  if (hit) {
    event.preventDefault();
    hit.action(event);
  } else if (!before && [...known.keys()].some((name) => name.startsWith(`${event.key} `))) {
    waiting = event.key;
    timer = setTimeout(() => { waiting = ""; }, 1200);
  }
});

/** Let j, k, Enter go through the elements that `rows` gives; each row is, or holds, a link. */
export function walk(rows) {
  const link = (row) => (row.matches("a") ? row : row.querySelector("a[href]"));
  function step(by) {
    const all = rows();
    const now = all.findIndex((row) => row.contains(document.activeElement));
    const next = all[Math.max(0, Math.min(all.length - 1, now < 0 ? (by > 0 ? 0 : all.length - 1) : now + by))];
    if (!next) return;
    link(next)?.focus();
    next.scrollIntoView({ block: "nearest" });
  }
  keys.on("j", () => step(1), "Next row");
  keys.on("k", () => step(-1), "Previous row");
}

// The command palette: pages, what can be done here, projects and sessions, by a few letters of their names.
import { keys } from "./keys.js";

const dialog = document.getElementById("palette");
const SHOWN = 6; // of each kind
let built = null;
let known = { projects: [], sessions: [] }; // the latest, asked for when the palette opens
let deeper = []; // sessions that the server found for what is typed
let options = [];
let chosen = 0;
let asking = null;
let timer = 0;

// -- matching

/** How well letters fit a name, in order but not side by side; null where they do not. The places are those of the letters. */
export function fit(typed, name) {
  const text = name.toLowerCase();
  const places = [];
  let score = 0;
  for (const word of typed.toLowerCase().split(/\s+/).filter(Boolean)) {
    const found = place(word, text);
    if (!found) return null;
    score += found.score;
    places.push(...found.places);
  }
  return { score: score - text.length / 400, places: places.sort((a, b) => a - b) };
}

function isStart(text, at) { return at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1]); }

function place(word, text) {
  let best = null;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    const score = 4 + word.length * 2 + (isStart(text, at) ? 4 : 0) + (at === 0 ? 2 : 0);
    if (!best || score > best.score) best = { score, places: [...word].map((_, n) => at + n) };
  }
  if (best || word.length > 24) return best;
  const places = [];
  let [score, at] = [0, 0];
  for (const letter of word) {
    let next = text.indexOf(letter, at);
    if (next < 0) return null;
    // The beginning of a later word is worth a jump: "gs" is "go to sessions".
    for (let look = next; look >= 0 && look < next + 40; look = text.indexOf(letter, look + 1)) {
      if (isStart(text, look)) { if (look !== at) next = look; break; }
    }
    score += next === at && places.length ? 2 : isStart(text, next) ? 1.5 : -0.6;
    places.push(next);
    at = next + 1;
  }
  return score > 0 ? { score, places } : null;
}

function named(name, places) {
  const span = document.createElement("span");
  const marked = new Set(places);
  let at = 0;
  while (at < name.length) {
    const isMarked = marked.has(at);
    let end = at + 1;
    while (end < name.length && marked.has(end) === isMarked) end += 1;
    const piece = name.slice(at, end);
    if (isMarked) {
      const bold = document.createElement("b");
      bold.textContent = piece;
      span.append(bold);
    } else {
      span.append(piece);
    }
    at = end;
  }
  return span;
}

// -- what there is

function pages() {
  return [...document.querySelectorAll(".places a")].map((link) => ({
    name: link.textContent.trim(), hint: link.dataset.key ? `g ${link.dataset.key}` : "", open: link.href,
  }));
}

async function remark(what) {
  const { togglePin, openRemarks } = await import("./remarks.js");
  const here = subject();
  if (what === "pin") togglePin(here); else openRemarks(here, null, what);
}

/** The session that the page, or the row with the focus before the palette opened, is about. */
function subject() {
  const about = built.before?.closest?.("[data-session]")?.dataset.session;
  if (about) return about;
  const all = new Set([...document.querySelectorAll("main [data-remarks]")].map((one) => one.dataset.remarks));
  return all.size === 1 ? [...all][0] : null;
}

function actions() {
  const skipped = new Set(["j", "k", "/", "Ctrl+k"]);
  const found = keys.listed().filter(([key]) => !key.startsWith("g ") && !skipped.has(key)).map(([key, name]) => ({ name, hint: key, run: () => keys.run(key) }));
  for (const one of document.querySelectorAll("main [data-command], main .deeds [data-copy]")) {
    found.push({ name: one.dataset.command ?? one.textContent.trim(), hint: "", run: () => one.click() });
  }
  for (const link of document.querySelectorAll("main a[download]")) {
    found.push({ name: `Export: ${link.firstChild?.textContent.trim() ?? link.textContent.trim()}`, hint: link.querySelector("small")?.textContent ?? "", run: () => link.click() });
  }
  if (!("readOnly" in document.body.dataset) && subject()) {
    found.push(
      { name: "Pin this session, or take its pin away", hint: "", run: () => remark("pin") },
      { name: "Rename this session", hint: "", run: () => remark("title") },
      { name: "Tag this session", hint: "", run: () => remark("tags") },
      { name: "Write a note on this session", hint: "", run: () => remark("notes") });
  }
  found.push({ name: "Copy the link to this page", hint: "", run: async () => (await import("./app.js")).copy(location.href, "Link copied") });
  return found;
}

function projects() {
  return known.projects.map(({ project, name, sessions }) => ({
    name, more: project, hint: sessions === 1 ? "1 session" : `${sessions} sessions`, open: `/sessions?project=${encodeURIComponent(project)}`,
  }));
}

function sessions() {
  const seen = new Map([...known.sessions, ...deeper].map((one) => [one.session_id, one]));
  return [...seen.values()].map(({ session_id: id, title, project, when }) => ({
    name: title, hint: `${project} · ${when}`, open: `/sessions/${encodeURIComponent(id)}`, sure: deeper.some((one) => one.session_id === id), id,
  }));
}

// -- drawing

function matches(typed, items) {
  if (!typed) return items.map((item) => ({ item, score: 0, places: [] }));
  const found = [];
  for (const item of items) {
    const direct = fit(typed, item.name);
    const other = direct ?? (item.more && fit(typed, item.more)) ?? (item.sure || item.id?.startsWith(typed) ? { score: 1 } : null);
    if (other) found.push({ item, score: direct ? direct.score : other.score - 2, places: direct?.places ?? [] });
  }
  return found.sort((a, b) => b.score - a.score);
}

function draw() {
  const typed = built.field.value.trim();
  const groups = [["Pages", pages()], ["Actions", actions()], ["Projects", projects()], ["Sessions", sessions()]]
    .map(([name, items]) => [name, matches(typed, items).slice(0, typed ? SHOWN : name === "Pages" || name === "Actions" ? 20 : SHOWN)])
    .filter(([, found]) => found.length);
  if (typed) {
    groups.sort((a, b) => b[1][0].score - a[1][0].score);
    const item = { name: `Search everything for “${typed}”`, hint: "", open: `/search?q=${encodeURIComponent(typed)}` };
    groups.push(["Search", [{ item, places: [] }]]);
  }
  options = [];
  chosen = 0;
  built.list.replaceChildren(...groups.map(([name, found], number) => {
    const group = document.createElement("li");
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", name);
    const label = document.createElement("div");
    label.setAttribute("role", "presentation");
    label.textContent = name;
    group.append(label);
    for (const { item, places } of found) {
      const option = document.createElement("div");
      option.id = `palette-${number}-${options.length}`;
      option.setAttribute("role", "option");
      option.append(named(item.name, places));
      if (item.hint) {
        const hint = document.createElement("small");
        hint.textContent = item.hint;
        option.append(hint);
      }
      option.dataset.number = String(options.length);
      options.push({ item, option });
      group.append(option);
    }
    return group;
  }));
  built.none.hidden = options.length > 0;
  choose(0);
}

function choose(number) {
  if (!options.length) { built.field.removeAttribute("aria-activedescendant"); return; }
  chosen = (number + options.length) % options.length;
  for (const [at, { option }] of options.entries()) option.setAttribute("aria-selected", String(at === chosen));
  const { option } = options[chosen];
  built.field.setAttribute("aria-activedescendant", option.id);
  if (chosen === 0) built.list.scrollTop = 0; else option.scrollIntoView({ block: "nearest" });
}

function take(number, elsewhere) {
  const item = options[number]?.item;
  if (!item) return;
  if (item.open && elsewhere) { window.open(item.open, "_blank", "noopener"); return; }
  dialog.close();
  if (item.open) location.href = item.open; else item.run();
}

async function look(typed) {
  asking?.abort();
  asking = new AbortController();
  const { signal } = asking;
  try {
    const answer = await fetch(`/search/palette?${new URLSearchParams(typed ? { q: typed } : {})}`, { signal });
    if (!answer.ok) return;
    const value = await answer.json();
    if (signal.aborted) return;
    if (typed) deeper = value.sessions; else known = value;
    const kept = options[chosen]?.item;
    draw();
    const again = options.findIndex(({ item }) => item.name === kept?.name && item.open === kept?.open);
    if (again > 0) choose(again);
  } catch { /* another question took its place */ }
}

function build() {
  const field = document.createElement("input");
  const list = document.createElement("ul");
  const none = document.createElement("p");
  const foot = document.createElement("p");
  Object.assign(field, { className: "palette-ask", placeholder: "Go to, do, find…", autocomplete: "off", spellcheck: false, maxLength: 200 });
  list.id = "palette-list";
  list.className = "palette-list";
  none.className = "palette-none";
  none.textContent = "Nothing is called so.";
  foot.className = "palette-foot";
  for (const [key, what] of [["↑ ↓", "choose"], ["Enter", "open"], ["Ctrl Enter", "in a new tab"], ["Esc", "close"]]) {
    const piece = document.createElement("span");
    const name = document.createElement("kbd");
    name.textContent = key;
    piece.append(name, ` ${what}`);
    foot.append(piece);
  }
  const told = { role: "combobox", "aria-expanded": "true", "aria-controls": list.id, "aria-autocomplete": "list", "aria-label": "Pages, actions, projects and sessions" };
  for (const [name, value] of Object.entries(told)) field.setAttribute(name, value);
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "What fits");
  list.tabIndex = -1;
  dialog.replaceChildren(field, list, none, foot);
  built = { field, list, none, before: null };
  field.addEventListener("input", () => {
    deeper = [];
    draw();
    clearTimeout(timer);
    const typed = field.value.trim();
    if (typed.length > 1) timer = setTimeout(() => look(typed), 120);
  });
  field.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) { event.preventDefault(); choose(chosen + step); }
    if (event.key === "Enter") { event.preventDefault(); take(chosen, event.ctrlKey || event.metaKey); }
    if (event.key === "k" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); event.stopPropagation(); dialog.close(); }
  });
  list.addEventListener("click", (event) => {
    const option = event.target.closest("[data-number]");
    if (option) take(Number(option.dataset.number), event.ctrlKey || event.metaKey);
  });
  list.addEventListener("mousemove", (event) => {
    const option = event.target.closest("[data-number]");
    if (option && Number(option.dataset.number) !== chosen) choose(Number(option.dataset.number));
  });
}

export function openPalette() {
  if (dialog.open) return;
  if (!built) build();
  built.before = document.activeElement;
  built.field.value = "";
  deeper = [];
  dialog.showModal();
  draw();
  built.field.focus();
  look("");
}

// The command palette: pages, what can be done here, projects, sessions and text, by a few letters; the best match is the first.
import { combobox } from "./combobox.js";
import { keys } from "./keys.js";
import { latest } from "./latest.js";
import { lookUp, searchItem, sessionItem, textItem } from "./quick.js";

const dialog = document.getElementById("palette");
const SHOWN = 6; // of each kind
const EXACT = 100;
const BEGINS = 10;
let built = null;
let recent = { projects: [], sessions: [] }; // asked for when the palette opens
let found = { sessions: [], texts: [] }; // by the server, for what is typed

// -- matching

/** How well typed letters match a name, in order but not side by side; null where they do not. The places are those of the letters. */
export function match(typed, name) {
  const text = name.toLowerCase();
  const places = [];
  let score = text === typed.toLowerCase() ? EXACT : text.startsWith(typed.toLowerCase()) ? BEGINS : 0;
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

/** A name in pieces, each with whether its letters are among those that match. */
function pieces(name, places) {
  const marked = new Set(places);
  const parts = [];
  for (let at = 0; at < name.length; at += 1) {
    const last = parts.at(-1);
    if (last && last[1] === marked.has(at)) last[0] += name[at]; else parts.push([name[at], marked.has(at)]);
  }
  return parts;
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
      { name: "Pin or unpin this session", hint: "", run: () => remark("pin") },
      { name: "Rename this session", hint: "", run: () => remark("title") },
      { name: "Tag this session", hint: "", run: () => remark("tags") },
      { name: "Add a note to this session", hint: "", run: () => remark("notes") });
  }
  found.push({ name: "Copy link to this page", hint: "", run: async () => (await import("./app.js")).copy(location.href, "Link copied") });
  return found;
}

function projects() {
  return recent.projects.map(({ project, name, sessions }) => ({
    name, more: project, hint: sessions === 1 ? "1 session" : `${sessions} sessions`, open: `/sessions?project=${encodeURIComponent(project)}`,
  }));
}

function sessions() {
  const foundNow = new Set(found.sessions.map(({ session_id: id }) => id));
  const all = new Map([...recent.sessions, ...found.sessions].map((one) => [one.session_id, one]));
  return [...all.values()].map((one) => ({ ...sessionItem(one), isFound: foundNow.has(one.session_id) }));
}

// -- drawing

/** The items that match, the best first, each with its score. */
function matches(typed, items) {
  const all = [];
  for (const item of items) {
    const direct = match(typed, item.name);
    const byId = typed.length > 3 && item.id?.startsWith(typed.toLowerCase()) ? { score: BEGINS * 2 } : null;
    const other = direct ?? byId ?? (item.more && match(typed, item.more)) ?? (item.isFound ? { score: 1 } : null);
    if (other) all.push({ ...item, score: direct ? direct.score : other.score - 2, pieces: pieces(item.name, direct?.places ?? []) });
  }
  return all.sort((a, b) => b.score - a.score).slice(0, SHOWN);
}

function draw() {
  const typed = built.field.value.trim();
  const all = [["Pages", pages(), 20], ["Actions", actions(), 20], ["Projects", projects(), SHOWN], ["Sessions", sessions(), SHOWN]];
  const groups = all.map(([name, items, most]) => [name, typed ? matches(typed, items) : items.slice(0, most)]).filter(([, items]) => items.length);
  if (typed) {
    groups.sort((a, b) => b[1][0].score - a[1][0].score);
    if (found.texts.length) groups.push(["Text", found.texts.map(textItem)]);
    groups.push(["Search", [searchItem(typed)]]);
  }
  built.box.draw(groups);
}

function take(item, elsewhere) {
  if (item.open && elsewhere) { window.open(item.open, "_blank", "noopener"); return; }
  if (item.open) {
    built.field.readOnly = true; // until the next page is there, letters are for nobody
    location.href = item.open;
    return;
  }
  dialog.close();
  item.run();
}

const asking = latest(lookUp, (answer) => { found = answer; draw(); });

async function lookUpRecent() {
  try { recent = await lookUp(""); } catch { return; /* pages and actions are here without it */ }
  if (dialog.open) draw();
}

function build() {
  const field = document.createElement("input");
  const list = document.createElement("ul");
  const foot = document.createElement("p");
  Object.assign(field, { className: "palette-ask", placeholder: "Go to a page, project or session, or run a command", autocomplete: "off", spellcheck: false, maxLength: 200 });
  field.setAttribute("aria-label", "Pages, actions, projects, sessions and text");
  Object.assign(list, { id: "palette-list", className: "options palette-list" });
  foot.className = "palette-foot";
  for (const [key, what] of [["↑ ↓", "select"], ["Enter", "open"], ["Ctrl Enter", "open in a new tab"], ["Esc", "close"]]) {
    const piece = document.createElement("span");
    const name = document.createElement("kbd");
    name.textContent = key;
    piece.append(name, ` ${what}`);
    foot.append(piece);
  }
  dialog.replaceChildren(field, list, foot);
  built = { field, box: combobox(field, list, { take, label: "Matches", first: true }), before: null };
  field.addEventListener("input", () => {
    found = { sessions: [], texts: [] };
    built.box.close(); // what was selected for other letters says nothing about these
    draw();
    const typed = field.value.trim();
    if (typed.length > 1) asking.soon(typed); else asking.stop();
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "k" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); event.stopPropagation(); dialog.close(); }
  });
  dialog.addEventListener("close", asking.stop);
}

export function openPalette() {
  if (dialog.open) return;
  if (!built) build();
  built.before = document.activeElement;
  Object.assign(built.field, { value: "", readOnly: false });
  found = { sessions: [], texts: [] };
  dialog.showModal();
  draw();
  built.field.focus();
  lookUpRecent();
}

addEventListener("pageshow", (event) => { if (event.persisted && dialog.open) dialog.close(); });

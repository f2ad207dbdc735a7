// The session list beside a transcript: filtered in the query language, current, and where it was when another session is opened.
import { keys, say } from "./app.js";
import { complete } from "./completion.js";
import { goOn, nodes, piece } from "./listing.js";
import { onNews } from "./live.js";

const root = document.documentElement;
const pane = document.getElementById("pane");
const body = document.getElementById("pane-body");
const form = document.getElementById("pane-form");
const filter = document.getElementById("pane-filter");
const toggle = document.getElementById("pane-toggle");
const current = document.getElementById("session").dataset.session;
const DOCKED = matchMedia("(min-width: 75rem)"); // beside the transcript; else it opens over it

const rows = () => [...body.querySelectorAll("li[data-session]")];
const currentRow = () => rows().find((row) => row.dataset.session === current);

function store(storage, value) {
  try { storage.setItem("hansard-pane", value); } catch { /* no storage: until the next page */ }
}

function remember() {
  if (body.querySelector("ol")) store(sessionStorage, JSON.stringify({ list: String(list), html: body.innerHTML, top: body.scrollTop }));
}

// -- shown or not

const isShown = () => (DOCKED.matches ? !root.classList.contains("pane-closed") : root.classList.contains("pane-drawer"));

function show(on) {
  if (DOCKED.matches) {
    root.classList.toggle("pane-closed", !on);
    store(localStorage, on ? "open" : "closed");
  } else {
    root.classList.toggle("pane-drawer", on);
  }
  toggle.setAttribute("aria-expanded", String(on));
  if (on) reveal();
}

function reveal() {
  const row = currentRow();
  if (!row) return;
  const [inner, outer] = [row.getBoundingClientRect(), body.getBoundingClientRect()];
  if (inner.top < outer.top || inner.bottom > outer.bottom) body.scrollTop += inner.top - outer.top - outer.height / 3;
}

// -- rows

function mark() {
  for (const link of body.querySelectorAll("a[aria-current]")) link.removeAttribute("aria-current");
  currentRow()?.querySelector("a").setAttribute("aria-current", "page");
}

/** Rows as they are now: those that are here change or move, and what was fetched beyond them stays. */
function merge(fresh) {
  const list = body.querySelector("ol");
  const focused = document.activeElement?.closest("#pane-body li")?.dataset.session;
  const known = new Map(rows().map((row) => [row.dataset.session, row]));
  const came = [...fresh.querySelectorAll("li[data-session]")];
  const names = new Set(came.map((row) => row.dataset.session));
  const before = rows();
  const lastKnown = before.findLastIndex((row) => names.has(row.dataset.session));
  const firstKnown = before.findIndex((row) => names.has(row.dataset.session));
  for (const row of before.slice(firstKnown, lastKnown)) if (!names.has(row.dataset.session)) row.remove(); // no longer listed
  const top = body.scrollTop;
  let place = known.get(came[0]?.dataset.session) ?? list.querySelector("li[data-session]"); // newer ones may be in front
  for (const row of came) {
    const old = known.get(row.dataset.session);
    if (old?.textContent === row.textContent) {
      if (old === place) place = place.nextElementSibling; else list.insertBefore(old, place);
      continue;
    }
    if (old === place) place = place.nextElementSibling;
    old?.remove();
    list.insertBefore(row, place);
  }
  if (came.length && !known.has(came.at(-1).dataset.session)) { list.querySelector("[data-more]")?.remove(); list.append(...fresh.querySelectorAll("[data-more]")); }
  if (!fresh.querySelector("[data-newer]")) list.querySelector("[data-newer]")?.remove();
  mark();
  body.scrollTop = top;
  if (focused) rows().find((row) => row.dataset.session === focused)?.querySelector("a").focus({ preventScroll: true });
}

// The list that the reader came from: its query, filters and order.
const list = new URLSearchParams(read("hansard-list") ?? "");
const order = document.getElementById("pane-order");

function read(name) {
  try { return sessionStorage.getItem(name); } catch { return null; }
}

function keepList() {
  try { sessionStorage.setItem("hansard-list", String(list)); } catch { /* no storage: until the next page */ }
  const filters = [...list.keys()].filter((name) => !["q", "sort", "order"].includes(name));
  const told = [list.has("sort") && `sorted by ${list.get("sort")}`, filters.length && `filtered by ${filters.join(", ")}`].filter(Boolean).join(", ");
  order.hidden = !told;
  order.querySelector("span").textContent = told && told[0].toUpperCase() + told.slice(1);
}

order.querySelector("button").addEventListener("click", () => {
  for (const name of [...list.keys()]) if (name !== "q") list.delete(name);
  keepList();
  shown = null;
  refresh();
});

let running = null;
let shown = filter.value.trim(); // the query whose rows are here
async function refresh() {
  running?.abort();
  running = new AbortController();
  const { signal } = running;
  const query = filter.value.trim();
  if (query) list.set("q", query); else list.delete("q");
  const asked = new URLSearchParams([...list, ["part", "pane"], ["around", current]]);
  try {
    const fresh = nodes(await piece(`/sessions?${asked}`, signal));
    if (signal.aborted) return;
    const isElsewhere = !currentRow() && fresh.querySelector(`li[data-session="${CSS.escape(current)}"]`);
    if (query === shown && !isElsewhere && body.querySelector("ol") && fresh.querySelector("ol")) merge(fresh);
    else { body.replaceChildren(fresh); mark(); reveal(); }
    shown = query;
    keepList();
    pane.dataset.ready = "";
  } catch { /* the next change of the store or of the filter will do */ }
}

let timer = 0;
filter.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => refresh(), 180); });
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  clearTimeout(timer);
  await refresh();
  rows()[0]?.querySelector("a").focus();
});
complete(filter);
const open = goOn(body, (href) => { const asked = new URL(href, location).searchParams; asked.set("part", "pane"); return `/sessions?${asked}`; }, mark);

/** What is newer than a list that begins in the middle. */
async function showNewer(more) {
  const fresh = nodes(await piece(more.dataset.newer));
  const known = new Set(rows().map((row) => row.dataset.session));
  const came = [...fresh.querySelectorAll("li[data-session]")].filter((row) => !known.has(row.dataset.session));
  const height = body.scrollHeight;
  more.replaceWith(...fresh.querySelectorAll("[data-newer]"), ...came);
  body.scrollTop += body.scrollHeight - height;
}

body.addEventListener("click", (event) => {
  const more = event.target.closest("[data-newer]");
  if (!more || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  showNewer(more).catch((error) => say(error.message));
});

// -- from one session to the next

async function step(by) {
  const at = rows().findIndex((row) => row.dataset.session === current);
  const more = body.querySelector("[data-more]");
  if (by > 0 && at === rows().length - 1 && more) await open(more.dataset.more);
  const next = at < 0 ? rows().at(by > 0 ? 0 : -1) : rows()[at + by];
  if (next) { remember(); location.assign(next.querySelector("a").href); }
}

function focusList() {
  show(true);
  (currentRow() ?? rows()[0])?.querySelector("a").focus();
}

pane.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && isShown() && !DOCKED.matches && !(event.target === filter && filter.value)) { show(false); toggle.focus(); event.stopPropagation(); return; }
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by || (event.target === filter && document.querySelector("[role=listbox]:not([hidden])"))) return;
  const links = [...body.querySelectorAll("li a")];
  const at = links.indexOf(document.activeElement);
  if (at < 0 && by < 0) return;
  event.preventDefault();
  (links[at + by] ?? (by < 0 ? filter : links[at]))?.focus();
});
document.addEventListener("pointerdown", (event) => {
  if (!DOCKED.matches && isShown() && !pane.contains(event.target) && !event.target.closest("#pane-open")) show(false);
});
toggle.addEventListener("click", () => show(!isShown()));
document.getElementById("pane-open")?.addEventListener("click", () => show(!isShown()));
DOCKED.addEventListener("change", () => { root.classList.remove("pane-drawer"); toggle.setAttribute("aria-expanded", String(isShown())); });
addEventListener("pagehide", remember);

keys.on("J", () => step(1), "Next session");
keys.on("K", () => step(-1), "Previous session");
keys.on("l", () => show(!isShown()), "Show or hide the session list");
keys.on("L", focusList, "Go to the session list");
keys.on("S", () => { show(true); filter.focus(); filter.select(); }, "Filter the session list");

toggle.setAttribute("aria-expanded", String(isShown()));
mark();
reveal();
refresh();
onNews(() => refresh());

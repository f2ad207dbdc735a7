// Places in a session: turns, items, and their addresses.
import { barBottom, first, isOpen, jump, loadAfter, loadBefore, session, undisturbed, windows } from "./session_windows.js";
import { show as showGroup } from "./session_filters.js";

let now = null;

/** The item that keys and buttons speak of. */
export const current = () => (now?.isConnected ? now : null);

export function setCurrent(item) {
  now?.classList.remove("now");
  now = item;
  item?.classList.add("now");
  document.dispatchEvent(new CustomEvent("hansard:item", { detail: item }));
}

const items = () => [...windows.querySelectorAll(".item")].filter((item) => item.checkVisibility());
export const turns = () => [...windows.querySelectorAll(".turn:not([data-part])")].filter((turn) => turn.checkVisibility());

/** Byte offset of an item's line, by its id; NaN where it has none. */
export const offsetOf = (item) => Number(/(?:^m|-)(\d+)(?:\.\d+)?(?:~\d+)?$/.exec(item?.id ?? "")?.[1] ?? NaN);

/** The subagent whose item it is; empty for the session's own. */
export const agentOf = (item) => item.closest("[data-agent]")?.dataset.agent ?? "";

// What is above may get its real height only when it is near: look again until the place stays where it is.
export function bring(target, block = "start") {
  let before = null;
  let times = 0;
  const alone = undisturbed();
  const look = () => {
    if (!alone()) return;
    target.scrollIntoView({ block, behavior: "instant" });
    const top = Math.round(target.getBoundingClientRect().top);
    if (times++ < 12 && top !== before) { before = top; requestAnimationFrame(look); }
  };
  look();
}

export function reveal(element) {
  for (let outer = element; outer && outer !== windows; outer = outer.parentElement) {
    if (outer.tagName === "DETAILS") outer.open = true;
  }
  showGroup(element.closest(".item"));
  if (element.classList.contains("item")) element.querySelector(":scope > details")?.setAttribute("open", "");
}

export function goTo(element) {
  reveal(element);
  if (element.classList.contains("item")) setCurrent(element);
  bring(element);
  element.closest(".turn")?.focus({ preventScroll: true });
}

/** The item at a byte offset, or the last one before it. */
export function itemAt(offset) {
  const own = session.dataset.agent;
  const exact = document.getElementById(own ? `m${own}-${offset}` : `m${offset}`);
  if (exact) return exact;
  let best = null;
  for (const item of windows.querySelectorAll(".item")) {
    if (agentOf(item) !== own) continue;
    if (offsetOf(item) > offset) break;
    best = item;
  }
  return best ?? windows.querySelector(".item");
}

export async function goToOffset(offset) {
  const own = session.dataset.agent;
  const there = document.getElementById(own ? `m${own}-${offset}` : `m${offset}`);
  if (there) { goTo(there); return; }
  const piece = await jump({ at: offset });
  if (piece) goTo(itemAt(Number(piece.dataset.target ?? offset)));
}

export async function goToTurn(number) {
  const there = document.getElementById(`t${number}`);
  if (there) { goTo(there); return; }
  await jump({ turn: number });
  const came = document.getElementById(`t${number}`);
  if (came) goTo(came);
}

export async function goToStart() {
  setCurrent(null);
  if (first()?.dataset.from !== "0") await jump({ from: 0 });
  scrollTo({ top: 0, behavior: "instant" });
}

export async function goToEnd() {
  if (!isOpen()) await jump({ end: 1 });
  toFoot();
}

export function toFoot() {
  let times = 0;
  const alone = undisturbed();
  const look = () => {
    if (!alone()) return;
    scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
    if (times++ < 4) requestAnimationFrame(look);
  };
  look();
}

/** Whether an address is a place of this thread, and the way there. */
export function visit(url) {
  const to = new URL(url, location.href);
  if (to.origin !== location.origin || to.pathname !== session.dataset.place) return null;
  const asked = to.searchParams;
  const sameThread = (asked.get("agent") ?? "") === session.dataset.agent && (asked.get("branch") ?? "0") === session.dataset.branch;
  const hash = decoded(to.hash.slice(1));
  const isHere = to.search === location.search;
  if (!sameThread && !isHere) return null;
  const known = hash && document.getElementById(hash);
  if (known && windows.contains(known)) return () => goTo(known);
  const [, agent, item] = /^m(?:(.+)-)?(\d+)(?:\.\d+)?(?:~\d+)?$/.exec(hash) ?? [];
  if (item !== undefined && (agent ?? "") === session.dataset.agent) return () => goToOffset(Number(item));
  if (item !== undefined && agent) return () => { location.assign(`${session.dataset.place}?agent=${encodeURIComponent(agent)}&at=${item}#${hash}`); };
  const [, turn] = /^t(\d+)(?:~\d+)?$/.exec(hash) ?? [];
  if (turn) return () => goToTurn(Number(turn));
  if (asked.has("at")) return () => goToOffset(Number(asked.get("at")));
  if (asked.has("turn")) return () => goToTurn(Number(asked.get("turn")));
  if (asked.has("end")) return goToEnd;
  if (!hash && !to.search.includes("whole")) return asked.has("from") || asked.has("until") ? null : goToStart;
  return null;
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return ""; }
}

// -- step by step

export function turnHere() {
  const asked = document.activeElement?.closest("#windows .turn");
  if (asked && isOpen() && document.documentElement.scrollHeight - innerHeight - scrollY < 4) return asked; // it cannot come higher
  const line = barBottom() + 24;
  const box = windows.getBoundingClientRect();
  const hit = document.elementFromPoint(box.left + Math.min(box.width / 2, 200), line)?.closest("#windows .turn");
  if (hit) return hit;
  return [...windows.querySelectorAll(".turn")].findLast((turn) => turn.getBoundingClientRect().top <= line) ?? null;
}

export async function stepTurn(by) {
  const all = turns();
  const here = turnHere();
  const number = (turn) => Number(/^t(\d+)/.exec(turn.id)[1]);
  let at = here ? all.findIndex((turn) => number(turn) === number(here)) : -1;
  if (by < 0 && here && all[at] && all[at].getBoundingClientRect().top < barBottom() - 4) at += 1; // first to its own beginning
  const isBelow = document.getElementById("bar").getBoundingClientRect().top > document.querySelector(".app-bar").getBoundingClientRect().bottom + 40;
  if (by > 0 && at >= 0 && isBelow) at -= 1; // the head is in view: first to the turn below it
  const next = all[at + by];
  if (!next && at + by >= all.length && !isOpen()) { await loadAfter(); return again(by); }
  if (!next && at + by < 0 && first()?.dataset.from !== "0") { await loadBefore(); return again(by); }
  const to = next ?? (by > 0 ? null : all[0]);
  if (!to) return undefined;
  setCurrent(null);
  bring(to);
  to.focus({ preventScroll: true });
  return undefined;
}

let tries = 0;
async function again(by) {
  if (++tries > 3) { tries = 0; return; }
  await stepTurn(by);
  tries = 0;
}

export async function stepItem(by) {
  const all = items();
  let at = current() ? all.indexOf(current()) : -1;
  if (at < 0) {
    const line = barBottom();
    const next = all.findIndex((item) => item.getBoundingClientRect().top >= line - 1);
    at = by > 0 ? (next < 0 ? all.length : next) - 1 : next < 0 ? all.length : next;
  }
  const next = all[at + by];
  if (!next && by > 0 && !isOpen() && await loadAfter()) { const more = items(); if (more.length > all.length) return stepItem(by); }
  if (!next && by < 0 && first()?.dataset.from !== "0" && await loadBefore()) return stepItem(by);
  if (!next) return undefined;
  setCurrent(next);
  const box = next.getBoundingClientRect();
  if (box.top < barBottom() + 8 || box.bottom > innerHeight) bring(next, box.height > innerHeight - barBottom() ? "start" : "nearest");
  return undefined;
}

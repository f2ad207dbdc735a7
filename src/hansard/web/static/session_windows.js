// The windows of a conversation: consecutive ranges of the transcript, fetched as the reader nears them, without moving the page.
import { say } from "./app.js";

export const session = document.getElementById("session");
export const windows = document.getElementById("windows");
const earlier = document.getElementById("earlier");
const later = document.getElementById("later");
const tail = document.getElementById("tail");
const MOST = 14; // windows in the page at once
const NEAR = "1600px 0px";

let run = 0; // grows with every jump: what was asked for before it is not put in
let printing = false; // every window stays until the session is printed
let allowance = 0; // windows that may be fetched before the reader moves again
const listeners = new Set();

/** Hear of each window that is new in the page. */
export function onWindow(listener) {
  listeners.add(listener);
  for (const one of windows.children) listener(one);
}

export const first = () => windows.firstElementChild;
export const last = () => windows.lastElementChild;
export const isOpen = () => last()?.dataset.until === "";

/** Whether the reader did nothing since: what the page does by itself must then stop. */
export function undisturbed() {
  const before = undisturbed.count;
  return () => undisturbed.count === before;
}
undisturbed.count = 0;
for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"]) addEventListener(kind, () => { undisturbed.count += 1; }, { passive: true, capture: true });

/** The address of something of this thread. */
export function address(place, more = {}) {
  const asked = new URLSearchParams();
  if (session.dataset.agent) asked.set("agent", session.dataset.agent);
  if (session.dataset.branch !== "0") asked.set("branch", session.dataset.branch);
  for (const [name, value] of Object.entries(more)) asked.set(name, value);
  const query = asked.toString();
  return session.dataset.place + place + (query ? `?${query}` : "");
}

/** A fragment of HTML; null where there is nothing new, or where the server could not say. */
export async function fetched(url) {
  let answer;
  try {
    answer = await fetch(url, { headers: { accept: "text/html" } });
  } catch {
    say("The server is not responding");
    return null;
  }
  if (answer.status === 204) return null;
  const template = document.createElement("template");
  template.innerHTML = await answer.text();
  if (!answer.ok) {
    say(template.content.querySelector(".lead")?.textContent ?? "Could not load this part");
    return null;
  }
  return template.content;
}

export const barBottom = () => document.getElementById("bar").getBoundingClientRect().bottom;

/** What is being read: the first item, or else turn, that is not above the bar. */
function anchor() {
  const line = barBottom();
  const box = windows.getBoundingClientRect();
  const x = box.left + Math.min(box.width / 2, 240);
  let turn = null; // its head may go when what came before it is there
  for (let y = line + 4; y < innerHeight; y += 20) {
    const hit = document.elementFromPoint(x, y);
    const item = hit?.closest("#windows .item");
    if (item) return item;
    turn ??= hit?.closest("#windows .turn");
  }
  return turn;
}

/** Change the page so that what is being read stays where it is. */
export function keepPlace(change) {
  const held = anchor();
  const before = held?.getBoundingClientRect().top;
  change();
  if (!held?.isConnected) return;
  const moved = held.getBoundingClientRect().top - before;
  if (Math.abs(moved) >= 1) scrollBy({ top: moved, behavior: "instant" });
}

function edges() {
  const [start, end] = [first()?.dataset.from ?? "0", last()?.dataset.until ?? ""];
  earlier.hidden = start === "0";
  later.hidden = end === "";
  tail.hidden = end !== "";
  earlier.firstElementChild.href = address("", { until: start });
  later.firstElementChild.href = address("", { from: end });
}

function told(piece) {
  for (const listener of listeners) listener(piece);
}

export async function loadAfter() {
  if (!last() || isOpen() || loadAfter.busy) return false;
  loadAfter.busy = true;
  const [mine, from] = [run, last().dataset.until];
  try {
    const piece = (await fetched(address("/turns", { from })))?.querySelector(".window");
    if (!piece || mine !== run || last().dataset.until !== from) return false;
    windows.append(piece);
    told(piece);
    trim(true);
    edges();
    return true;
  } finally {
    loadAfter.busy = false;
  }
}

export async function loadBefore() {
  if (!first() || first().dataset.from === "0" || loadBefore.busy) return false;
  loadBefore.busy = true;
  const [mine, until] = [run, first().dataset.from];
  try {
    const piece = (await fetched(address("/turns", { until })))?.querySelector(".window");
    if (!piece || mine !== run || first().dataset.from !== until) return false;
    keepPlace(() => {
      windows.prepend(piece);
      told(piece);
      edges();
    });
    trim(false);
    edges();
    return true;
  } finally {
    loadBefore.busy = false;
  }
}

/** Let go of windows that are far away: at the top when more came below, else at the foot. */
function trim(atTop) {
  if (printing) return;
  while (windows.childElementCount > MOST) {
    const far = atTop ? first() : last();
    const box = far.getBoundingClientRect();
    if (atTop ? box.bottom > -2 * innerHeight : box.top < 3 * innerHeight) return;
    if (atTop) keepPlace(() => far.remove()); else far.remove();
  }
}

/** Show another place of the thread: its window instead of those that are there. Gives the window. */
export async function jump(more) {
  const mine = ++run;
  session.setAttribute("aria-busy", "true");
  try {
    const piece = (await fetched(address("/turns", more)))?.querySelector(".window");
    if (!piece || mine !== run) return null;
    windows.replaceChildren(piece);
    told(piece);
    edges();
    allowance = 4;
    watch();
    return piece;
  } finally {
    session.removeAttribute("aria-busy");
  }
}

/** Put fragments in place of the last window, which they continue. */
export function continued(pieces, morph) {
  const [again, ...more] = pieces;
  morph(last(), again);
  for (const piece of more) {
    windows.append(piece);
    told(piece);
  }
  edges();
}

/** Print the whole session: every window is fetched first. */
export async function printAll() {
  printing = true;
  try {
    say("Loading the whole session…");
    const pause = () => new Promise((done) => { setTimeout(done, 20); }); // another load may be on its way
    const loadAll = async (load, isDone) => {
      while (!isDone()) {
        if (await load()) continue;
        if (!load.busy) return false; // it failed, and said so
        await pause();
      }
      return true;
    };
    if (first() && !(await loadAll(loadBefore, () => first().dataset.from === "0") && await loadAll(loadAfter, isOpen))) return;
    print();
  } finally {
    printing = false;
  }
}

const near = new IntersectionObserver(async (seen) => {
  for (const { target, isIntersecting } of seen) {
    if (!isIntersecting || target.hidden || allowance <= 0) continue;
    allowance -= 1;
    if (await (target === earlier ? loadBefore() : loadAfter())) watch();
  }
}, { rootMargin: NEAR });

function watch() {
  for (const edge of [earlier, later]) {
    near.unobserve(edge);
    near.observe(edge);
  }
}

let moved = false;
function readerMoved() {
  allowance = 4;
  if (moved) return;
  moved = true;
  setTimeout(() => { moved = false; watch(); }, 150);
}

export function start() {
  allowance = 4;
  watch();
  addEventListener("scroll", readerMoved, { passive: true });
  for (const edge of [earlier, later]) {
    edge.addEventListener("click", (event) => {
      event.preventDefault();
      (edge === earlier ? loadBefore : loadAfter)();
    });
  }
}

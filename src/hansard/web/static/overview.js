// The part of the overview that changes: asked for again when there is news, put in place without a jump.
import { onNews } from "./live.js";
import { walk } from "./keys.js";

const now = document.getElementById("now");
const SOON = 1500; // milliseconds between two looks, however much happens
const MINUTE = 60_000;
let waiting = 0;
let last = 0;
let known = null;

async function load(box) {
  if (known !== null) box.innerHTML = known;
  try {
    const answer = await fetch(box.dataset.load);
    if (!answer.ok) throw new Error(answer.statusText);
    const text = await answer.text();
    if (text !== known) box.innerHTML = known = text;
  } catch {
    if (known === null) box.firstElementChild.textContent = "The source directories could not be read.";
  }
}

function loadAll() {
  for (const box of now.querySelectorAll("[data-load]")) load(box);
}

async function refresh() {
  waiting = 0;
  last = Date.now();
  if (now.dataset.empty !== undefined) { location.reload(); return; }
  const answer = await fetch("/overview/now");
  if (!answer.ok) return;
  const text = await answer.text();
  const held = now.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  const selected = getSelection();
  if (selected && !selected.isCollapsed && now.contains(selected.anchorNode)) { later(MINUTE / 4); return; } // somebody is copying
  const box = document.createElement("template");
  box.innerHTML = text;
  const before = now.getBoundingClientRect().bottom;
  now.replaceChildren(box.content);
  loadAll();
  const grown = now.getBoundingClientRect().bottom - before;
  if (before < 0) scrollBy(0, grown); // what is being read stays where it is
  if (held !== null) [...now.querySelectorAll("a")].find((link) => link.getAttribute("href") === held)?.focus({ preventScroll: true });
}

function later(milliseconds) {
  if (!waiting) waiting = setTimeout(refresh, milliseconds);
}

loadAll();
onNews(() => later(Math.max(0, SOON - (Date.now() - last))), Number(now.dataset.revision));
if (now.dataset.empty === undefined) {
  walk(() => [...document.querySelectorAll(".session-list li")]);
  // What is live grows old, and a block burns on, also while nothing is written.
  if (now.dataset.moving !== undefined) setInterval(() => { if (!document.hidden) later(0); }, MINUTE);
}

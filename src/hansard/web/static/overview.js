// Refreshes the live part of the overview when the store changes, without moving the page.
import { onNews } from "./live.js";
import { walk } from "./keys.js";

const now = document.getElementById("now");
const SOON = 1500; // milliseconds between two looks, however much happens
const MINUTE = 60_000;
let waiting = 0;
let last = 0;
const loaded = new Map(); // what came for each address

// Parts of the page that take longer than the rest; until they are there, they have links to the same figures.
async function load(box) {
  const address = box.dataset.load;
  const known = loaded.get(address);
  if (known !== undefined) box.innerHTML = known;
  try {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(answer.statusText);
    const text = await answer.text();
    loaded.set(address, text);
    if (text !== known) box.innerHTML = text;
  } catch {
    const message = box.querySelector("[data-failed]");
    if (message) message.textContent = message.dataset.failed;
  }
}

function loadAll(part) {
  for (const box of part.querySelectorAll("[data-load]")) load(box);
}

/** The charts below, which do not change by themselves except while the history is read. */
async function refreshCharts() {
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!answer.ok) return;
  const drawn = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const id of ["spending", "year"]) {
    const [old, fresh] = [document.getElementById(id), drawn.getElementById(id)];
    if (old && fresh && !old.contains(document.activeElement)) old.replaceWith(fresh);
  }
}

const isReading = () => now.matches("[data-syncing]") || now.querySelector("[data-syncing]") !== null;

async function refresh() {
  waiting = 0;
  last = Date.now();
  if (now.dataset.empty !== undefined) { location.reload(); return; }
  const wasReading = isReading();
  const answer = await fetch("/overview/now");
  if (!answer.ok) return;
  const text = await answer.text();
  const held = now.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  const selected = getSelection();
  if (selected && !selected.isCollapsed && now.contains(selected.anchorNode)) { later(MINUTE / 4); return; } // somebody is copying
  const box = document.createElement("template");
  box.innerHTML = text;
  const year = document.getElementById("year"); // it changes once a day
  const read = [year, ...document.querySelectorAll(".page > .columns > .card")].find((one) => {
    const { top, bottom } = one?.getBoundingClientRect() ?? {};
    return top < innerHeight / 3 && bottom > 0;
  });
  const before = read?.getBoundingClientRect().top;
  if (year) box.content.querySelector("[data-slot=year]")?.replaceWith(year);
  now.replaceChildren(box.content);
  loadAll(now);
  load(document.getElementById("cleanup"));
  if (read) scrollBy(0, read.getBoundingClientRect().top - before); // what is being read stays where it is
  if (wasReading) { await refreshCharts(); if (isReading()) later(SOON); }
  if (held !== null) [...now.querySelectorAll("a")].find((link) => link.getAttribute("href") === held)?.focus({ preventScroll: true });
}

function later(milliseconds) {
  if (!waiting) waiting = setTimeout(refresh, milliseconds);
}

loadAll(document);
onNews(() => later(Math.max(0, SOON - (Date.now() - last))), Number(now.dataset.revision));
if (isReading()) later(SOON);
if (now.dataset.empty === undefined) {
  walk(() => [...document.querySelectorAll(".session-list li")]);
  // What is live grows old, and a block burns on, also while nothing is written.
  if (now.dataset.moving !== undefined) setInterval(() => { if (!document.hidden) later(0); }, MINUTE);
}

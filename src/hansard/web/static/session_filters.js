// Showing and hiding kinds of items, and folding all of them.
import { keepPlace, onWindow, windows } from "./session_windows.js";

const root = document.documentElement;
const buttons = [...document.querySelectorAll("[data-filter]")];
const isOff = (button) => button.getAttribute("aria-pressed") !== "true";
let unfolded = false;

/** What the reader chose stays for the next session, a reload and Back. */
function keep() {
  const off = buttons.filter(isOff).map((button) => button.dataset.filter);
  try { sessionStorage.setItem("hansard-reading", JSON.stringify({ off, unfolded })); } catch { /* no storage: until the next page */ }
}

function restore() {
  try { unfolded = JSON.parse(sessionStorage.getItem("hansard-reading") ?? "{}").unfolded === true; } catch { /* no storage */ }
  for (const button of buttons) button.setAttribute("aria-pressed", String(!root.classList.contains(`no-${button.dataset.filter}`)));
}

function apply(scope) {
  const off = new Set(buttons.filter(isOff).map((button) => button.dataset.filter));
  for (const turn of scope.querySelectorAll(".turn")) turn.hidden = off.size > 0 && turn.dataset.holds.split(" ").every((kind) => off.has(kind));
}

export function press(button) {
  const shown = isOff(button);
  button.setAttribute("aria-pressed", String(shown));
  keepPlace(() => {
    root.classList.toggle(`no-${button.dataset.filter}`, !shown);
    apply(windows);
  });
  dispatchEvent(new Event("scroll"));
}

/** Show the kind of an item that is asked for. */
export function show(item) {
  const group = item?.className.match(/\bof-(\w+)/)?.[1];
  const button = buttons.find((one) => one.dataset.filter === group);
  if (button && isOff(button)) press(button);
}

const FOLDS = "details:not(.more, .branch, .agent, .not-shown)";

export function foldAll() {
  unfolded = !unfolded;
  keepPlace(() => { for (const fold of windows.querySelectorAll(FOLDS)) fold.open = unfolded; });
  keep();
}

export function foldTurn(turn) {
  const folds = [...(turn?.querySelectorAll(FOLDS) ?? [])];
  const open = folds.some((fold) => !fold.open);
  for (const fold of folds) fold.open = open;
}

export function start(keys) {
  restore();
  for (const [at, button] of buttons.entries()) {
    const choose = () => { press(button); keep(); };
    button.addEventListener("click", choose);
    keys.on(String(at + 1), choose, `Show or hide ${button.textContent.trim().toLowerCase()}`);
  }
  onWindow((piece) => {
    apply(piece);
    if (unfolded) for (const fold of piece.querySelectorAll(FOLDS)) fold.open = true;
  });
}

// Showing and hiding kinds of items, and folding all of them.
import { keepPlace, onWindow, windows } from "./session_windows.js";

const root = document.documentElement;
const buttons = [...document.querySelectorAll("[data-filter]")];
const isOff = (button) => button.getAttribute("aria-pressed") !== "true";
let unfolded = false;

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
}

export function foldTurn(turn) {
  const folds = [...(turn?.querySelectorAll(FOLDS) ?? [])];
  const open = folds.some((fold) => !fold.open);
  for (const fold of folds) fold.open = open;
}

export function start(keys) {
  for (const [at, button] of buttons.entries()) {
    button.addEventListener("click", () => press(button));
    keys.on(String(at + 1), () => press(button), `Show or hide ${button.textContent.trim().toLowerCase()}`);
  }
  onWindow((piece) => {
    apply(piece);
    if (unfolded) for (const fold of piece.querySelectorAll(FOLDS)) fold.open = true;
  });
}

// Side-by-side diffs if there is room: made from the unified form, which stays in the page for copying and printing.
import { say } from "./app.js";
import { mark } from "./session_hits.js";
import { keepPlace, onWindow, session, windows } from "./session_windows.js";

const LEAST = 1000; // pixels for both sides
const button = document.querySelector("[data-action=diffs]");
let wanted = true;
let room = 0; // at the right of a message, up to the edge of the page
let shown = false;

try { wanted = localStorage.getItem("hansard-diffs") !== "unified"; } catch { /* no storage: until the next page */ }

function measure() {
  const right = parseFloat(getComputedStyle(windows).paddingRight);
  const box = windows.getBoundingClientRect();
  room = Math.floor(session.getBoundingClientRect().right - box.right + right - 16);
  session.style.setProperty("--room", `${room}px`);
  return box.width - right + room >= LEAST;
}

const count = (span) => span.textContent.split("\n").length - (span.textContent.endsWith("\n") ? 1 : 0);
const made = (tag, className, text = "") => Object.assign(document.createElement(tag), { className, textContent: text });

/** One side of a diff; `rows` are the numbers of its lines and its elements. */
function side(rows) {
  const half = made("div", "numbered");
  const numbers = made("pre", "lines", rows.map(([told]) => told).join(""));
  numbers.ariaHidden = "true";
  const code = made("pre", "diff code");
  code.append(...rows.map(([, element]) => element));
  half.append(numbers, code);
  return half;
}

function split(unified) {
  const numbers = unified.querySelector(".lines").textContent.split("\n");
  const wide = (numbers[0].length - 1) / 2;
  const sides = [[], []];
  const fill = (at, lines) => { if (lines > 0) sides[at].push(["\n".repeat(lines), made("span", "blank-lines", "\n".repeat(lines))]); };
  let place = 0;
  let pending = 0; // lines that were cut and not yet replaced
  for (const span of unified.querySelector(".diff").children) {
    const lines = count(span);
    const pairs = numbers.slice(place, place + lines);
    const put = (at) => sides[at].push([pairs.map((pair) => `${at ? pair.slice(wide + 1) : pair.slice(0, wide)}\n`).join(""), span.cloneNode(true)]);
    place += lines;
    if (span.className === "add") {
      put(1);
      fill(1, pending - lines);
      fill(0, lines - pending);
      pending = 0;
      continue;
    }
    fill(1, pending);
    pending = span.className === "cut" ? lines : 0;
    put(0);
    if (!pending) put(1);
  }
  fill(1, pending);
  const both = made("div", "split");
  both.append(...sides.map(side));
  const [old, fresh] = both.querySelectorAll(".diff");
  old.addEventListener("scroll", () => { fresh.scrollLeft = old.scrollLeft; }, { passive: true });
  fresh.addEventListener("scroll", () => { old.scrollLeft = fresh.scrollLeft; }, { passive: true });
  unified.hidden = true;
  unified.after(both);
}

/** Draw what is new in the page as the other diffs are. */
export function arrange(scope) {
  if (!shown) return;
  for (const code of scope.querySelectorAll(".numbered:not([hidden]) > .diff")) {
    if (code.closest(".split, .agent, .branch") || !code.querySelector(":scope > .add") || !code.querySelector(":scope > .cut")) continue;
    split(code.parentElement);
  }
}

function unify() {
  for (const both of windows.querySelectorAll(".split")) {
    both.previousElementSibling.hidden = false;
    both.remove();
  }
}

function update(isPrinted = false) {
  const fits = measure();
  button.hidden = !fits;
  button.setAttribute("aria-pressed", String(wanted));
  const before = shown;
  shown = fits && wanted && !isPrinted;
  if (before === shown) return;
  keepPlace(() => { if (shown) arrange(windows); else unify(); });
  mark(windows);
}

export function toggle() {
  if (button.hidden) { say("The window is too narrow for side-by-side diffs"); return; }
  wanted = !wanted;
  try { localStorage.setItem("hansard-diffs", wanted ? "split" : "unified"); } catch { /* no storage: until the next page */ }
  update();
  say(wanted ? "Side-by-side diffs" : "Unified diffs");
}

export function start() {
  update();
  onWindow(arrange);
  new ResizeObserver(() => update()).observe(session);
  addEventListener("beforeprint", () => update(true));
  addEventListener("afterprint", () => update());
}

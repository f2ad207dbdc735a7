// The outline and the timeline: where the reader is, and the rest of them where a session is too long to send them at once.
import { fetched, session } from "./session_windows.js";
import { turnHere } from "./session_places.js";

const outline = document.getElementById("outline");
const list = outline?.querySelector("ol");
const context = document.getElementById("context");
const course = document.getElementById("course");
const WIDE = matchMedia("(min-width: 60rem)");
let marked = 0;

export function mark() {
  const turn = turnHere();
  const number = turn ? Number(/^t(\d+)/.exec(turn.id)[1]) : 0;
  if (number === marked) return;
  marked = number;
  list.querySelector("[aria-current]")?.removeAttribute("aria-current");
  const link = number && list.querySelector(`a[data-turn="${number}"]`);
  markCourse(turn);
  if (!link) return;
  link.setAttribute("aria-current", "true");
  const [inner, outer] = [link.getBoundingClientRect(), list.getBoundingClientRect()];
  if (inner.top < outer.top || inner.bottom > outer.bottom) list.scrollTop += inner.top - outer.top - outer.height / 3;
}

function markCourse(turn) {
  course.querySelector("a.now")?.classList.remove("now");
  const offset = Number(/(\d+)(?:\.\d+)?$/.exec(turn?.querySelector(".item")?.id ?? "")?.[1] ?? NaN);
  if (Number.isNaN(offset)) return;
  const steps = [...course.querySelectorAll(".hits a")];
  (steps.find((step) => Number(step.dataset.offset) >= offset) ?? steps.at(-1))?.classList.add("now");
}

function showChart(slot) {
  context.hidden = !slot.querySelector("svg");
  course.replaceChildren(...slot.childNodes);
  marked = 0;
  mark();
}

/** Put rows in: those that are there already are replaced, others come behind them. */
export function showRows(slot, total) {
  const complete = Number(list.dataset.last) >= Number(document.getElementById("turn-count").textContent) || !list.children.length;
  document.getElementById("turn-count").textContent = total;
  if (!slot || !complete) return;
  for (const row of [...slot.children]) {
    const number = row.firstElementChild.dataset.turn;
    const there = list.querySelector(`a[data-turn="${number}"]`)?.parentElement;
    if (there) there.replaceWith(row); else list.append(row);
  }
  list.dataset.last = total;
  marked = 0;
  mark();
}

let stale = !course?.querySelector("svg"); // the chart is fetched when it is opened
let timer = 0;

/** What the session used has changed; that of a long one is not added up anew with every line that comes. */
export function chartChanged(hasFigures) {
  stale = true;
  if ((context.open || !hasFigures) && !timer) timer = setTimeout(() => { timer = 0; fetchCourse(); }, hasFigures ? 0 : 20_000);
}

async function fetchCourse() {
  const came = await fetched(course.dataset.chart);
  if (!came) return;
  stale = false;
  const rows = came.querySelector("[data-slot=outline]");
  const at = list.scrollTop;
  const shown = list.querySelector("[aria-current]")?.dataset.turn;
  list.replaceChildren(...rows.childNodes);
  list.dataset.first = 1;
  list.dataset.last = list.childElementCount;
  for (const edge of outline.querySelectorAll(".outline-edge")) edge.remove();
  list.scrollTop = at;
  showChart(came.querySelector("[data-slot=course]"));
  if (shown) { marked = 0; mark(); }
}

export function start() {
  const fold = outline.querySelector("details");
  const fit = () => { fold.open = WIDE.matches; };
  fit();
  WIDE.addEventListener("change", fit);
  list.addEventListener("click", () => { if (!WIDE.matches) fold.open = false; });
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; mark(); });
  }, { passive: true });
  mark();
  if ("fetch" in outline.dataset) (globalThis.requestIdleCallback ?? setTimeout)(fetchCourse);
  const open = () => { if (context.open && stale) fetchCourse(); };
  context.addEventListener("toggle", open);
  open();
  session.dataset.ready = "";
}

// Boxes that scroll sideways can be reached by the keyboard, and only those: a page has hundreds of code blocks.
const BOXES = "pre, .wide, .scroll, .numbered, .panel-body";
let waiting = 0;

function mark() {
  waiting = 0;
  for (const box of document.querySelectorAll(BOXES)) {
    const scrolls = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
    if (scrolls && !box.hasAttribute("tabindex") && getComputedStyle(box).overflow !== "visible") { box.tabIndex = 0; box.dataset.scrolls = ""; }
    else if (!scrolls && "scrolls" in box.dataset) { box.removeAttribute("tabindex"); delete box.dataset.scrolls; }
  }
}

function soon() {
  if (!waiting) waiting = setTimeout(mark, 200);
}

export function startScrollable() {
  new MutationObserver(soon).observe(document.getElementById("main"), { childList: true, subtree: true });
  document.addEventListener("toggle", soon, true);
  addEventListener("resize", soon, { passive: true });
  mark();
}

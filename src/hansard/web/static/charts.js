// Charts: values in a box of our own instead of the browser's, arrows from bar to bar and from day to day, and switches that
// change a chart in place.
const told = new WeakMap();
let tip = null;

function words(link) {
  let text = told.get(link);
  if (text === undefined) {
    const title = link.querySelector(":scope > title");
    text = title?.textContent ?? "";
    told.set(link, text);
    if (title && link.matches("a")) link.setAttribute("aria-label", text.replace(/\n/g, ", ").replace(/ {2}/g, " "));
    title?.remove();
  }
  return text;
}

function show(link) {
  const text = words(link);
  if (!text) return;
  tip ??= document.body.appendChild(Object.assign(document.createElement("div"), { className: "tip", hidden: true }));
  tip.setAttribute("aria-hidden", "true");
  tip.replaceChildren(...text.split("\n").map((line) => {
    const row = document.createElement("div");
    for (const part of line.split("  ")) row.appendChild(document.createElement("span")).textContent = part;
    return row;
  }));
  tip.hidden = false;
  const shape = link.querySelector("rect:not(.hit)") ?? link.closest(".column")?.querySelector("rect:not(.hit)") ?? link.querySelector("rect");
  const column = link.closest(".column");
  const box = (column ?? shape).getBoundingClientRect();
  const top = column ? [...column.querySelectorAll("rect:not(.hit)")].reduce((least, rect) => Math.min(least, rect.getBoundingClientRect().top), box.bottom) : box.top;
  const width = tip.offsetWidth, height = tip.offsetHeight;
  const x = Math.max(8, Math.min(innerWidth - width - 8, box.left + box.width / 2 - width / 2));
  const above = top - height - 8;
  tip.style.transform = `translate(${Math.round(x)}px, ${Math.round(above < 4 ? Math.min(box.bottom, innerHeight - height - 8) + 8 : above)}px)`;
}

function hide() { if (tip) tip.hidden = true; }

const told_of = (target) => target.closest?.(".bars a, .bars .column > g, .heat a, .heat g, .hours g, .spark g");

document.addEventListener("pointerover", (event) => {
  const link = told_of(event.target);
  if (link) show(link); else hide();
});
document.addEventListener("focusin", (event) => { const link = told_of(event.target); if (link) show(link); else hide(); });
document.addEventListener("focusout", hide);
addEventListener("scroll", hide, { passive: true, capture: true });

function move(chart, from, to) {
  if (!to) return;
  from.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
  if (chart.dataset.walk === "days") to.scrollIntoView({ block: "nearest", inline: "nearest" });
}

document.addEventListener("keydown", (event) => {
  const chart = event.target.closest?.("[data-walk]");
  if (!chart || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") { hide(); return; }
  const days = chart.dataset.walk === "days";
  const links = [...chart.querySelectorAll(days ? "a[data-day]" : "a.whole")];
  const at = links.indexOf(event.target.closest("a"));
  if (at < 0) return;
  let next = null;
  if (event.key === "Home") next = links[0];
  else if (event.key === "End") next = links.at(-1);
  else if (!days) next = { ArrowLeft: links[at - 1], ArrowRight: links[at + 1] }[event.key];
  else {
    const by = { ArrowLeft: -7, ArrowRight: 7, ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (by) {
      const day = (link) => Date.parse(link.dataset.day) / 86_400_000;
      const wanted = day(links[at]) + by;
      const side = links.filter((link) => (by > 0 ? day(link) > day(links[at]) : day(link) < day(links[at])));
      next = side.reduce((best, link) => (best === null || Math.abs(day(link) - wanted) < Math.abs(day(best) - wanted) ? link : best), null);
    }
  }
  if (!(event.key in { Home: 1, End: 1, ArrowLeft: 1, ArrowRight: 1, ArrowUp: 1, ArrowDown: 1 })) return;
  event.preventDefault();
  move(chart, links[at], next);
});

function toTheEnd(within) {
  for (const box of within.querySelectorAll(".to-the-end")) box.scrollLeft = box.scrollWidth;
}
toTheEnd(document);

/** Put some parts of the page at an address into this one, and nothing moves. */
let swaps = 0; // only the last choice counts
async function swap(href, ids) {
  swaps += 1;
  const mine = swaps;
  const answer = await fetch(href, { headers: { accept: "text/html" } });
  if (!answer.ok) throw new Error(answer.statusText);
  const drawn = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (mine !== swaps) return false; // another choice was made meanwhile
  for (const id of ids) {
    const part = drawn.getElementById(id);
    if (!part) throw new Error("no such part");
    document.getElementById(id).replaceWith(part);
    toTheEnd(part);
  }
  // The other switches of the page must know of this choice.
  for (const other of drawn.querySelectorAll("a[data-swap]")) {
    const same = [...document.querySelectorAll(`a[data-swap="${other.dataset.swap}"]`)].find((one) => one.textContent === other.textContent);
    if (same && !ids.includes(other.dataset.swap)) same.setAttribute("href", other.getAttribute("href"));
  }
  return true;
}

document.addEventListener("click", async (event) => {
  const link = event.target.closest?.("a[data-swap]");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  const id = link.dataset.swap;
  const name = link.textContent;
  try {
    if (!await swap(link.href, [id])) return;
    history.pushState({ swapped: true }, "", link.getAttribute("href").replace(/#.*$/, "") || "/");
    shown = location.search;
    [...document.getElementById(id).querySelectorAll("a[data-swap]")].find((one) => one.textContent === name)?.focus({ preventScroll: true });
  } catch {
    location.href = link.href;
  }
});

let shown = location.search;
addEventListener("popstate", () => {
  if (location.search === shown && !history.state?.swapped) return; // only a fragment
  shown = location.search;
  const ids = [...new Set([...document.querySelectorAll("a[data-swap]")].map((one) => one.dataset.swap))];
  swap(location.href, ids).catch(() => location.reload());
});

// The page of a session: windows, places, live updates, keys.
import { keys } from "./app.js";
import { remarkKeys } from "./remarks.js";
import * as diffs from "./session_diffs.js";
import * as filters from "./session_filters.js";
import * as find from "./session_find.js";
import * as hits from "./session_hits.js";
import * as items from "./session_items.js";
import * as live from "./session_live.js";
import * as outline from "./session_outline.js";
import { current, goTo, goToEnd, goToStart, itemAt, stepItem, stepTurn, turnHere, visit } from "./session_places.js";
import * as pieces from "./session_windows.js";

const { session, windows } = pieces;

// -- menus, on any session's page

/** A panel begins under its button, and stays inside the window. */
function place(menu) {
  const [button, panel] = [menu.querySelector("summary"), menu.querySelector(".panel-body")];
  const left = button.getBoundingClientRect().left;
  const most = document.documentElement.clientWidth - panel.offsetWidth - 12;
  panel.style.right = "auto";
  panel.style.left = `${Math.round(Math.max(12, Math.min(left, most)) - menu.getBoundingClientRect().left)}px`;
}

const menus = [...document.querySelectorAll(".actions .menu")];
const grown = new ResizeObserver((boxes) => { for (const { target } of boxes) if (target.closest(".menu").open) place(target.closest(".menu")); });
for (const menu of menus) {
  grown.observe(menu.querySelector(".panel-body")); // what is fetched into an open panel makes it wider
  menu.addEventListener("toggle", () => { if (menu.open) place(menu); });
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && menu.open) { menu.open = false; menu.querySelector("summary").focus(); event.stopPropagation(); }
  });
  if (menu.open) place(menu);
}
addEventListener("resize", () => { for (const menu of menus) if (menu.open) place(menu); });
document.addEventListener("pointerdown", (event) => {
  for (const menu of menus) if (menu.open && !menu.contains(event.target)) menu.open = false;
});
const alike = document.getElementById("alike");
document.getElementById("related").addEventListener("toggle", async (event) => {
  if (!event.target.open || !alike.dataset.from) return;
  const came = await pieces.fetched(alike.dataset.from);
  if (came) { delete alike.dataset.from; alike.replaceChildren(came); }
});

document.addEventListener("hansard:remarks", (event) => {
  const notes = document.getElementById("notes");
  if (!notes || event.detail.session_id !== session.dataset.session) return;
  notes.replaceChildren(...event.detail.notes.map((text) => Object.assign(document.createElement("p"), { className: "note plain", textContent: text })));
});

if (windows) {
  const actions = { start: goToStart, end: goToEnd, follow: live.toggleFollow, fold: filters.foldAll, diffs: diffs.toggle, error: () => hits.stepError(1), print: pieces.printAll };

  history.scrollRestoration = "manual";
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const button = event.target.closest("[data-action]");
    if (button) { event.preventDefault(); actions[button.dataset.action](); return; }
    const link = event.target.closest("a[href]");
    if (!link || link.hasAttribute("download") || link.closest("#find, .edge, .outline-edge")) return;
    const url = link instanceof SVGElement ? link.href.baseVal : link.href;
    const way = visit(url);
    if (!way) return;
    event.preventDefault();
    if (link.classList.contains("at")) { items.copyLink(link.closest(".item")); return; }
    history.pushState(null, "", url);
    shown = location.pathname + location.search;
    for (const menu of menus) menu.open = false;
    way();
  });
  let shown = location.pathname + location.search;
  addEventListener("popstate", () => {
    const before = shown;
    shown = location.pathname + location.search;
    (visit(location.href) ?? (() => { if (shown !== before) location.reload(); }))(); // a fragment of the page needs no other page
  });
  addEventListener("hashchange", () => visit(location.href)?.());

  keys.on("j", () => stepTurn(1), "Next turn");
  keys.on("k", () => stepTurn(-1), "Previous turn");
  keys.on("m", () => stepItem(1), "Next message");
  keys.on("M", () => stepItem(-1), "Previous message");
  keys.on("g g", goToStart, "Go to the start");
  keys.on("G", goToEnd, "Go to the end");
  keys.on("f", live.toggleFollow, "Follow new messages");
  keys.on("e", filters.foldAll, "Expand or collapse all");
  keys.on("o", () => filters.foldTurn(current() ?? turnHere()), "Expand or collapse this one");
  keys.on("d", diffs.toggle, "Side-by-side or unified diffs");
  keys.on("}", () => hits.stepError(1), "Next error");
  keys.on("{", () => hits.stepError(-1), "Previous error");
  keys.on("n", () => hits.stepHit(1), "Next match");
  keys.on("N", () => hits.stepHit(-1), "Previous match");
  keys.on("Ctrl+p", () => pieces.printAll(), "Print the whole session");
  keys.on(".", () => items.openRaw(), "Raw line of this message");
  keys.on("c", () => items.copyLink(), "Copy a link to this message");
  keys.on("y", () => items.copyText(), "Copy text");
  keys.on("P", () => items.togglePin(), "Pin or unpin this message");
  live.start(); // first, so that it sees windows as they were sent
  diffs.start();
  filters.start(keys);
  items.start();
  find.start();
  hits.start();
  pieces.start();
  outline.start();

  const target = pieces.first()?.dataset.target;
  if (location.hash) visit(location.href)?.();
  else if (target !== undefined) goTo(itemAt(Number(target)));
  else if (new URLSearchParams(location.search).has("end")) goToEnd();
  addEventListener("beforeprint", () => {
    if (CSS.supports("selector(::details-content)")) return;
    for (const fold of windows.querySelectorAll("details:not([open], .more, .branch)")) fold.open = true;
  });
}
remarkKeys(() => ({ id: session.dataset.session }));
session.dataset.ready = "";

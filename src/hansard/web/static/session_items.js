// What can be done with one message: link, copy, raw line; and subagents, which are fetched when they are opened.
import { copy } from "./app.js";
import { agentOf, current, offsetOf } from "./session_places.js";
import { showRaw } from "./session_raw.js";
import { fetched, onWindow, session, windows } from "./session_windows.js";

const tools = document.getElementById("item-tools");
const sheet = document.getElementById("raw");

const itemOfTools = () => tools.closest(".item");
export const chosen = () => current() ?? itemOfTools();

function rawAddress(item) {
  const asked = new URLSearchParams({ offset: offsetOf(item) });
  const agent = agentOf(item);
  if (agent) asked.set("agent", agent);
  return `${session.dataset.place}/raw?${asked}`;
}

function attach(item) {
  if (!item || itemOfTools() === item || item.classList.contains("blank")) return;
  item.append(tools);
  tools.hidden = false;
  tools.querySelector("[data-item=raw]").href = rawAddress(item);
}

export function copyLink(item = chosen()) {
  if (!item) return;
  const agent = agentOf(item);
  const asked = new URLSearchParams();
  if (agent) asked.set("agent", agent);
  if (session.dataset.branch !== "0" && agent === session.dataset.agent) asked.set("branch", session.dataset.branch);
  asked.set("at", offsetOf(item));
  history.replaceState(null, "", agent === session.dataset.agent ? `#${item.id}` : location.href);
  copy(`${location.origin}${session.dataset.place}?${asked}#${item.id}`, "Link copied");
}

export function copyText(item = chosen()) {
  if (!item) return;
  const parts = [...item.querySelectorAll(".prose, .plain, pre:not(.lines), .checklist, dl.facts, .rule")]
    .filter((part) => !part.parentElement.closest(".prose, .plain, .checklist, .agent, .rule, .split"));
  copy(parts.map((part) => part.innerText.trim()).filter(Boolean).join("\n\n"), "Text copied");
}

export function openRaw(item = chosen()) {
  if (item) showRaw(sheet, rawAddress(item), fetched);
}

// -- pictures

function showPicture(picture) {
  const box = document.getElementById("lightbox");
  const all = [...document.querySelectorAll("#conversation .picture")].filter((one) => one.checkVisibility());
  let at = all.indexOf(picture);
  if (at < 0) return;
  const show = () => box.replaceChildren(Object.assign(document.createElement("img"), { src: all[at].src, alt: all[at].alt }));
  box.onkeydown = (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by && all[at + by]) { at += by; show(); }
  };
  box.onclick = () => box.close();
  show();
  box.showModal();
}

// -- subagents

async function fill(fold, from = null) {
  if (fold.hasAttribute("aria-busy")) return;
  fold.setAttribute("aria-busy", "true");
  const asked = new URLSearchParams({ agent: fold.dataset.agent });
  if (from !== null) asked.set("from", from);
  const came = await fetched(`${session.dataset.place}/agent?${asked}`);
  fold.removeAttribute("aria-busy");
  if (!came) return;
  fold.querySelector(":scope > .agent-more")?.remove();
  fold.dataset.loaded = "";
  fold.append(came);
}

export function start() {
  document.addEventListener("pointerover", (event) => { if (event.pointerType !== "touch") attach(event.target.closest?.("#conversation .item")); });
  onWindow((piece) => { for (const picture of piece.querySelectorAll("img.picture")) { picture.tabIndex = 0; picture.role = "button"; } });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.classList?.contains("picture")) { event.preventDefault(); showPicture(event.target); }
  });
  document.addEventListener("hansard:item", (event) => attach(event.detail));
  document.addEventListener("focusin", (event) => attach(event.target.closest?.("#conversation .item")));
  document.addEventListener("toggle", (event) => {
    const fold = event.target;
    if (fold.matches?.("details.agent[data-agent]") && fold.open && !("loaded" in fold.dataset)) fill(fold);
  }, true);
  document.addEventListener("click", (event) => {
    const target = event.target;
    const button = target.closest("[data-item]");
    if (button) {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      const item = itemOfTools();
      ({ link: copyLink, copy: copyText, raw: openRaw })[button.dataset.item](item);
      return;
    }
    if (target.classList.contains("picture")) { showPicture(target); return; }
    const more = target.closest(".agent-more a[data-from]");
    if (more && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      fill(more.closest("details.agent"), more.dataset.from);
      return;
    }
    attach(target.closest("#conversation .item"));
  });
  for (const fold of document.querySelectorAll("details.agent[data-agent][open]")) fill(fold);
  if (!windows.children.length) tools.remove();
}

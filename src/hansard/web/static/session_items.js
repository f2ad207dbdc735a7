// What can be done with one message: link, copy, pin, raw line; and subagents, which are fetched when they are opened.
import { ask, copy, say } from "./app.js";
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
  const button = tools.querySelector("[data-item=pin]");
  if (!button) return; // the server is read-only
  button.hidden = !item.dataset.message;
  button.setAttribute("aria-pressed", String("pinned" in item.dataset));
}

/** Pin or unpin a message, and list what is pinned then. */
export async function togglePin(item = chosen()) {
  if (!item || !tools.querySelector("[data-item=pin]")) return;
  const { message } = item.dataset;
  if (!message) { say("This entry cannot be pinned"); return; }
  const was = "pinned" in item.dataset;
  const menu = document.getElementById("pins");
  try {
    await ask(`/api/sessions/${[session.dataset.session, "pins", message].map(encodeURIComponent).join("/")}`, { method: was ? "DELETE" : "PUT" });
    for (const one of document.querySelectorAll(`[data-message="${CSS.escape(message)}"]`)) one.toggleAttribute("data-pinned", !was);
    if (itemOfTools()?.dataset.message === message) tools.querySelector("[data-item=pin]").setAttribute("aria-pressed", String(!was));
    say(was ? "Message unpinned" : "Message pinned");
    const list = await fetched(menu.dataset.from);
    if (!list) return;
    const count = Number(list.querySelector("[data-count]").dataset.count);
    menu.querySelector(".panel-body").replaceChildren(list);
    menu.querySelector(".count").textContent = count;
    menu.hidden = !count;
  } catch (error) {
    say(error.message);
  }
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

/** What a message says, also where it is folded: a browser gives no text of what is not laid out. */
function textOf(item) {
  const folded = [...item.querySelectorAll("details:not([open], .agent)")];
  for (const fold of folded) fold.open = true;
  const parts = [...item.querySelectorAll(".prose, .plain, pre:not(.lines), .checklist, dl.facts, .rule")]
    .filter((part) => !part.parentElement.closest(".prose, .plain, .checklist, .agent, .rule, .split"));
  const texts = parts.map((part) => part.innerText.trim()).filter(Boolean);
  for (const fold of folded) fold.open = false;
  const subject = item.querySelector(":scope > details > summary > .subject, :scope > .line > .subject")?.textContent.trim();
  if (subject && !texts.some((text) => text.includes(subject))) texts.unshift(subject);
  return texts.join("\n\n");
}

export function copyText(item = chosen()) {
  const text = item && textOf(item);
  if (text) copy(text, "Text copied"); else if (item) say("This message has no text");
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
  const [image, count] = [box.querySelector("img"), box.querySelector("output")];
  const show = () => {
    Object.assign(image, { src: all[at].src, alt: all[at].alt });
    count.textContent = `${at + 1} of ${all.length}`;
    for (const button of box.querySelectorAll("[data-step]")) { button.hidden = all.length < 2; button.disabled = !all[at + Number(button.dataset.step)]; }
  };
  const step = (by) => { if (all[at + by]) { at += by; show(); } };
  box.onkeydown = (event) => step({ ArrowRight: 1, ArrowLeft: -1 }[event.key] ?? 0);
  box.onclick = (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.step) step(Number(button.dataset.step));
    else if (button || event.target === box) box.close();
  };
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
      ({ link: copyLink, copy: copyText, pin: togglePin, raw: openRaw })[button.dataset.item](item);
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

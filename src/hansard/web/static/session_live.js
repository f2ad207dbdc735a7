// Follows a growing session: replaces only what changed, without moving the text being read.
import { say } from "./app.js";
import { onConnection, onNews } from "./live.js";
import { arrange } from "./session_diffs.js";
import { mark } from "./session_hits.js";
import { chartChanged, showRows } from "./session_outline.js";
import { forget } from "./session_hits.js";
import { goToEnd, setCurrent, toFoot } from "./session_places.js";
import { address, continued, fetched, isOpen, keepPlace, last, loadAfter, onWindow, session, undisturbed } from "./session_windows.js";

const button = document.querySelector("[data-action=follow]");
const pristine = new WeakMap(); // items as the server sent them
const pill = document.getElementById("new-messages");
let messages = Number(session.dataset.messages);
let unseen = 0; // messages that came while the reader was elsewhere
let following = false;
let connected = true;
let isOurs = () => false; // whether scrolling is our own
let busy = false;
let again = false;

function forAWhile(milliseconds) {
  const [until, alone] = [performance.now() + milliseconds, undisturbed()];
  return () => performance.now() < until && alone();
}

const isAtEnd = () => isOpen() && document.documentElement.scrollHeight - innerHeight - scrollY < 48;

function set(on) {
  following = on;
  button.setAttribute("aria-pressed", String(on));
  button.classList.toggle("offline", !connected);
  button.lastChild.data = !on ? " Follow" : connected ? " Following" : " Disconnected";
}

export async function toggleFollow() {
  if (following) { set(false); return; }
  isOurs = forAWhile(1500);
  await goToEnd();
  set(true);
  say("Following new messages");
}

const keyOf = (element) => element.id || (element.tagName === "HEADER" || element.tagName === "SUMMARY" ? element.tagName : "");
const sent = (element) => pristine.get(element) ?? element.outerHTML;

function remember(scope) {
  for (const item of scope.querySelectorAll(".item")) if (!pristine.has(item)) pristine.set(item, item.outerHTML);
}

/** An item in the place of its former state: what was open stays open. */
function exchange(old, fresh) {
  const html = fresh.outerHTML;
  const folds = [...old.querySelectorAll("details")];
  for (const [at, fold] of [...fresh.querySelectorAll("details")].entries()) {
    const before = fold.dataset.agent ? folds.find((one) => one.dataset.agent === fold.dataset.agent) : folds[at];
    if (before) fold.open = before.open;
  }
  pristine.set(fresh, html);
  old.replaceWith(fresh);
  if (old.classList.contains("now")) setCurrent(fresh);
}

/** Make an element's children those of another, leaving alone what is the same. */
export function morph(old, fresh) {
  for (const { name, value } of fresh.attributes) if (name !== "open" && name !== "hidden") old.setAttribute(name, value);
  const known = new Map([...old.children].map((child) => [keyOf(child), child]));
  let place = old.firstElementChild;
  for (const child of [...fresh.children]) {
    const key = keyOf(child);
    const mine = key ? known.get(key) : undefined;
    if (!mine) {
      old.insertBefore(child, place);
      continue;
    }
    known.delete(key);
    if (mine === place) place = place.nextElementSibling; else old.insertBefore(mine, place);
    if (sent(mine) === child.outerHTML) continue;
    if (mine.matches(".turn, .branch") && child.matches(".turn, .branch")) morph(mine, child);
    else exchange(mine, child);
  }
  for (const gone of known.values()) gone.remove();
  remember(old);
}

async function look() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    do {
      again = false;
      await fetchNews();
    } while (again);
  } finally {
    busy = false;
  }
}

async function fetchNews() {
  const asked = { known: session.dataset.fingerprint ?? "", outlined: Math.max(1, Number(document.getElementById("turn-count").textContent)) };
  const from = isOpen() ? last().dataset.from : null;
  if (from !== null) asked.from = from;
  const came = await fetched(address("/news", asked));
  if (!came) return;
  const state = came.querySelector("[data-slot=state]").dataset;
  if (last() && last().dataset.log !== state.log) { location.reload(); return; } // the transcript was written anew
  const pieces = [...came.children].filter((one) => one.matches(".window"));
  while (pieces.length && pieces.at(-1).dataset.until !== "" && pieces.length < 4) {
    const next = (await fetched(address("/turns", { from: pieces.at(-1).dataset.until })))?.querySelector(".window");
    if (!next) break;
    pieces.push(next);
  }
  session.dataset.fingerprint = state.fingerprint;
  forget();
  const stay = following || isAtEnd();
  const change = () => {
    for (const id of ["facts", "brief"]) {
      const fresh = came.querySelector(`#${id}`);
      if (fresh) document.getElementById(id)?.replaceWith(fresh);
    }
    document.getElementById("agents")?.replaceChildren(...came.querySelector("[data-slot=agents]").childNodes);
    const count = document.getElementById("agent-count");
    if (count) count.textContent = state.agents;
    if (pieces.length && last()?.dataset.from === pieces[0].dataset.from) { continued(pieces, morph); arrange(last().parentElement); mark(last().parentElement); }
    showRows(came.querySelector("[data-slot=outline]"), Number(state.turns));
    chartChanged("figures" in state);
  };
  if (stay) {
    isOurs = forAWhile(600);
    change();
    while (!isOpen() && await loadAfter());
    toFoot();
  } else {
    keepPlace(change);
    unseen += Math.max(0, Number(state.messages) - messages);
    showPill();
  }
  messages = Number(state.messages);
}

function showPill() {
  pill.hidden = unseen === 0;
  pill.textContent = unseen === 1 ? "1 new message" : `${unseen} new messages`;
}

export function start() {
  pill.addEventListener("click", () => { unseen = 0; showPill(); toggleFollow(); });
  onWindow(remember);
  onConnection((isConnected) => { connected = isConnected; set(following); });
  onNews(look, Number(session.dataset.revision));
  addEventListener("scroll", () => {
    if (isOurs()) return;
    const atEnd = isAtEnd() && scrollY > 0;
    if (atEnd !== following) set(atEnd);
    if (atEnd && unseen) { unseen = 0; showPill(); }
  }, { passive: true });
}

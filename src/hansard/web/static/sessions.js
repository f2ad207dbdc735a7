// The list of sessions: updates with its form, loads more at its end, and announces new sessions without moving the rows.
import { say } from "./app.js";
import { walk } from "./keys.js";
import { address, follow, goOn, nodes, piece, wished } from "./listing.js";
import { complete } from "./completion.js";
import { onNews } from "./live.js";
import { keepClosed } from "./page_history.js";
import { remarkKeys } from "./remarks.js";
import { startSelection } from "./selection.js";

const form = document.getElementById("ask");
const list = document.getElementById("list");
const news = document.getElementById("news");
const part = (asked, name) => { const more = new URLSearchParams(asked); more.set("part", name); return address("/sessions", more); };

function draw(html) {
  const fresh = nodes(html);
  const mistake = fresh.querySelector("[data-mistakes]");
  document.getElementById("q-mistake").replaceChildren(...(mistake ? mistake.content.childNodes : []));
  mistake?.remove();
  list.replaceChildren(fresh);
  tell();
  news.hidden = true;
}

function tell() {
  document.getElementById("count").textContent = list.querySelector("table")?.dataset.count.trim() ?? "";
  const asked = wished(form);
  for (const name of ["sort", "order", "group"]) asked.delete(name);
  document.getElementById("clear").hidden = String(asked) === "";
}

const open = goOn(list, (href) => part(new URL(href, location).searchParams, "rows"));
const following = follow(form, { look: (asked, signal) => piece(part(asked, "list"), signal), draw, failed: (error) => say(error.message), open });
complete(form.querySelector("[data-complete]"));

list.addEventListener("click", (event) => {
  const link = event.target.closest("[data-sort]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const asked = new URL(link.href).searchParams;
  for (const name of ["sort", "order"]) form.elements[name].value = asked.get(name) ?? "";
  following.now().then(() => list.querySelector(`[data-sort="${link.dataset.sort}"]`)?.focus());
});

// The list beside a session is the one that it was opened from.
addEventListener("pagehide", () => {
  const asked = wished(form);
  asked.delete("group");
  try { sessionStorage.setItem("hansard-list", String(asked)); } catch { /* no storage: the list beside a session is the usual one */ }
});

// -- news

let waiting = null;

/** Rows that are here already change where they are; new ones wait behind a button. */
function refresh(html) {
  const fresh = nodes(html);
  const here = new Map([...list.querySelectorAll("tr[data-session]")].map((row) => [row.dataset.session, row]));
  let count = 0;
  for (const row of fresh.querySelectorAll("tr[data-session]")) {
    const old = here.get(row.dataset.session);
    if (!old) { count += 1; continue; }
    if (old.isEqualNode(row)) continue;
    const focused = [...old.querySelectorAll("a, button, input")].indexOf(document.activeElement);
    const again = row.cloneNode(true);
    old.replaceWith(again);
    if (focused >= 0) again.querySelectorAll("a, button, input")[focused]?.focus({ preventScroll: true });
  }
  waiting = html;
  if (!here.size && count) { draw(html); return; }
  news.textContent = count === 1 ? "1 new session" : `${count} new sessions`;
  news.hidden = count === 0;
}

news.addEventListener("click", () => {
  draw(waiting);
  keepClosed();
  list.querySelector("tr[data-session] a")?.focus({ preventScroll: true });
  scrollTo({ top: 0 });
});

let looking = false;
onNews(async () => {
  if (looking) return;
  looking = true;
  const asked = wished(form);
  try {
    const html = await piece(part(asked, "list"));
    if (String(asked) === String(wished(form)) && !nodes(html).querySelector("[data-mistakes]")) refresh(html);
  } catch { /* the next news will do */ } finally {
    looking = false;
  }
}, Number(list.dataset.revision));

// -- keys

const current = () => document.activeElement?.closest?.("tr[data-session]") ?? list.querySelector("tr[data-session]");
startSelection(list, current);
walk(() => [...list.querySelectorAll("tr[data-session]")].filter((row) => row.querySelector(".title")));
remarkKeys(() => {
  const row = current();
  if (row && !row.contains(document.activeElement)) row.querySelector("a").focus();
  return row && { id: row.dataset.session, beside: row.querySelector(".title") };
});

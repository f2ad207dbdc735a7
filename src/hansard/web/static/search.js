// Search as you type. Results load first, facets once typing pauses.
import { keys, say } from "./app.js";
import { walk } from "./keys.js";
import { address, follow, goOn, nodes, piece, wished } from "./listing.js";
import { complete } from "./completion.js";
import { latest } from "./latest.js";
import { startSelection } from "./selection.js";

const STORE = "hansard-searches";
const MOST = 12;
const form = document.getElementById("ask");
const field = form.elements.q;
const results = document.getElementById("results");
const facets = document.getElementById("facets");
let countedFor = null;

function draw(html, asked) {
  results.replaceChildren(nodes(html));
  results.classList.remove("fresh");
  document.title = asked.get("q") ? `${asked.get("q").slice(0, 60)} · Search · Hansard` : "Search · Hansard";
  recent();
  count(asked);
  clearTimeout(draw.timer);
  draw.timer = setTimeout(remember, 2500);
}

const counting = latest((asked, signal) => piece(address("/search/facets", asked), signal), (html, asked) => {
  const held = facets.contains(document.activeElement) ? document.activeElement.dataset.facet : null;
  facets.replaceChildren(nodes(html));
  if (held) [...facets.querySelectorAll("[data-facet]")].find((link) => link.dataset.facet === held)?.focus({ preventScroll: true });
  countedFor = asked.get("q");
  const all = facets.querySelector("[data-counted]")?.dataset.counted;
  const matches = results.querySelector("[data-matches]");
  if (all && matches?.textContent.startsWith("More")) matches.textContent = all;
}, () => facets.replaceChildren());

/** How the matches spread: asked for after the results, since counting takes longer than finding. */
function count(asked) {
  const query = asked.get("q") ?? "";
  if (!query || results.querySelector(".nothing") || !results.querySelector(".hit")) {
    counting.stop();
    facets.replaceChildren();
    countedFor = null;
  } else if (query !== countedFor) {
    counting.now(asked);
  } else {
    counting.stop();
  }
}

const open = goOn(results, (href) => address("/search/results", new URL(href, location).searchParams));
const following = follow(form, {
  look: (asked, signal) => { results.classList.add("fresh"); return piece(address("/search/results", asked), signal); },
  draw,
  failed: (error) => { results.classList.remove("fresh"); say(error.message); },
  open,
});
complete(field);

/** Links that only change the query change it in the field. */
document.querySelector(".page").addEventListener("click", (event) => {
  const link = event.target.closest("[data-query]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  field.value = link.dataset.query;
  if (link.dataset.group) for (const one of form.elements.group) one.checked = one.value === link.dataset.group;
  following.now();
  remember();
  if (link.closest("#facets")) return;
  document.getElementById("syntax").open = false;
  field.focus();
});

// -- recent searches, which stay in this browser

function remembered() {
  try {
    const kept = JSON.parse(localStorage.getItem(STORE) ?? "[]");
    return Array.isArray(kept) ? kept.filter((one) => typeof one === "string").slice(0, MOST) : [];
  } catch { return []; }
}

function keep(list) {
  try { localStorage.setItem(STORE, JSON.stringify(list.slice(0, MOST))); } catch { /* no storage: none are remembered */ }
}

function remember() {
  const query = field.value.trim();
  if (query.length < 3 || query.length > 200 || results.querySelector(".nothing") || !results.querySelector(".hit")) return;
  keep([query, ...remembered().filter((one) => one !== query && !query.startsWith(one))]);
}

function recent() {
  const place = results.querySelector("[data-recent]");
  const list = remembered();
  if (!place || !list.length) return;
  const forget = document.createElement("button");
  Object.assign(forget, { type: "button", className: "button plain", textContent: "Clear" });
  forget.addEventListener("click", () => { keep([]); place.hidden = true; field.focus(); });
  place.querySelector("ul").replaceChildren(...list.map((query) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    Object.assign(link, { className: "chip", href: `/search?q=${encodeURIComponent(query)}`, textContent: query });
    link.dataset.query = query;
    item.append(link);
    return item;
  }));
  place.querySelector(".button")?.remove();
  place.append(forget);
  place.hidden = false;
}

// -- keys

const rows = () => [...results.querySelectorAll("[data-row]")];
walk(rows);
startSelection(results, () => document.activeElement.closest("#results [data-session]"));
field.addEventListener("keydown", (event) => {
  if (event.key !== "ArrowDown" || event.defaultPrevented) return;
  const first = rows()[0]?.querySelector("a");
  if (first) { event.preventDefault(); first.focus(); }
});
results.addEventListener("click", (event) => { if (event.target.closest(".hit > a")) remember(); });
addEventListener("pagehide", remember);
function other(radios) {
  [...radios].find((one) => !one.checked).checked = true;
  following.now();
}
keys.on("s", () => other(form.elements.sort), "Sort by best or newest");
keys.on("v", () => other(form.elements.group), "Group by session or list every hit");
keys.on("h", () => {
  const help = document.getElementById("syntax");
  help.open = !help.open;
  if (help.open) help.querySelector("summary").focus();
}, "Query syntax");

recent();
if (!facets.children.length || facets.querySelector("noscript")) count(wished(form));

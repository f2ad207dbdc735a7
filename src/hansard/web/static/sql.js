// The SQL page: colours, completion and parameters of the query; Ctrl Enter runs it.
import { copy, keys, say } from "./app.js";
import { complete } from "./completion.js";

const form = document.getElementById("ask");
const editor = document.getElementById("editor");
const field = form.elements.q;
const colours = editor.querySelector("pre");
const parameters = document.getElementById("parameters");
const keywords = editor.dataset.keywords.split(" ");
const functions = editor.dataset.functions.split(" ");
const views = new Map([...document.querySelectorAll("[data-view]")].map((view) => [view.dataset.view, [...view.querySelectorAll("[data-column]")].map((column) => ({ name: column.dataset.column, help: column.title }))]));
const reserved = new Set([...keywords.filter((word) => word === word.toUpperCase()), "ASC", "INNER", "OUTER", "CROSS", "USING", "OVER", "PARTITION", "CAST", "EXISTS", "INTERSECT", "EXCEPT", "OFFSET", "FILTER", "RECURSIVE", "VALUES", "TRUE", "FALSE", "PIVOT", "WINDOW", "QUALIFY"]);
const token = /(--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:[^']|'')*(?:'|$))|("(?:[^"]|"")*(?:"|$))|(\$[A-Za-z_]\w*)|(\d+(?:\.\d+)?)\b|([A-Za-z_]\w*)/g;
const longestAddress = 8000; // bytes behind the question mark that the server takes

function classOf([, comment, text, , parameter, number, word], next) {
  if (comment !== undefined) return "c";
  if (text !== undefined) return "s";
  if (parameter !== undefined) return "v";
  if (number !== undefined) return "m";
  if (word === undefined) return "";
  if (reserved.has(word.toUpperCase())) return "k";
  if (next === "(") return "f";
  return views.has(word) ? "t" : "";
}

function colour() {
  const text = field.value;
  const pieces = [];
  let end = 0;
  for (const found of text.matchAll(token)) {
    const kind = classOf(found, text[found.index + found[0].length]);
    if (!kind) continue;
    pieces.push(text.slice(end, found.index));
    const span = document.createElement("span");
    span.className = kind;
    span.textContent = found[0];
    pieces.push(span);
    end = found.index + found[0].length;
  }
  colours.replaceChildren(...pieces, `${text.slice(end)}\n`);
  colours.scrollTop = field.scrollTop;
}

/** One input for each parameter that the query names. */
function askForParameters() {
  const names = new Set([...field.value.matchAll(token)].map((found) => found[4]?.slice(1)).filter(Boolean));
  for (const label of [...parameters.children]) if (!names.delete(label.querySelector("input").name.slice(6, -1))) label.remove();
  for (const name of names) {
    const label = document.createElement("label");
    const input = Object.assign(document.createElement("input"), { className: "field", name: `param[${name}]`, size: 12, autocomplete: "off", spellcheck: false });
    label.append(`$${name} `, input);
    parameters.append(label);
  }
}

function drawn() { colour(); askForParameters(); }

// -- completion

function word() {
  const end = field.selectionStart;
  if (end !== field.selectionEnd || /\w/.test(field.value[end] ?? "")) return null;
  const found = /(?:([A-Za-z_]\w*)\.)?([A-Za-z_]\w*)?$/.exec(field.value.slice(0, end));
  const text = found[2] ?? "";
  return text || found[1] ? { text, of: found[1], start: end - text.length, end } : null;
}

function offers({ text, of }) {
  if (!of && text.length < 2) return [];
  const query = field.value;
  const named = [...views.keys()].filter((name) => new RegExp(`\\b${name}\\b`, "i").test(query));
  const alias = of && new RegExp(`\\b(\\w+)\\s+(?:AS\\s+)?${of}\\b`, "i").exec(query)?.[1];
  const from = views.has(of) ? [of] : views.has(alias) ? [alias] : named.length ? named : [...views.keys()];
  const columns = from.flatMap((name) => views.get(name).map((column) => ({ text: column.name, help: column.help || name })));
  const others = of ? [] : [...[...views.keys()].map((name) => ({ text: name, help: "view" })), ...functions.map((name) => ({ text: name, help: "function" })), ...keywords.map((name) => ({ text: name, help: "" }))];
  const typed = text.toLowerCase();
  const found = new Map();
  for (const one of [...columns, ...others]) if (one.text.toLowerCase().startsWith(typed) && one.text.toLowerCase() !== typed && !found.has(one.text)) found.set(one.text, one);
  return [...found.values()].slice(0, 12);
}

/** Where the word begins, as the coloured text has it. */
function place({ start }) {
  const range = document.createRange();
  const walker = document.createTreeWalker(colours, NodeFilter.SHOW_TEXT);
  let left = start;
  while (walker.nextNode()) {
    const { data } = walker.currentNode;
    if (left <= data.length) { range.setStart(walker.currentNode, left); range.setEnd(walker.currentNode, left); break; }
    left -= data.length;
  }
  return range.getBoundingClientRect();
}

// -- what happens

editor.classList.add("lit");
field.addEventListener("input", drawn);
field.addEventListener("scroll", () => { colours.scrollTop = field.scrollTop; });
new ResizeObserver(() => { colours.scrollTop = field.scrollTop; }).observe(field);
addEventListener("pageshow", drawn); // a browser may restore what was typed
drawn();
complete(field, { word, offers, place });

form.addEventListener("submit", (event) => {
  const asked = new URLSearchParams(new FormData(form)).toString();
  if (asked.length <= longestAddress) return;
  event.preventDefault();
  say(`The query is too long for an address (${asked.length.toLocaleString("en")} of ${longestAddress.toLocaleString("en")} bytes): run it with hansard sql`);
});
document.getElementById("link")?.addEventListener("click", () => copy(location.href.split("#")[0], "Link copied"));
document.querySelector(".sql-aside").addEventListener("click", (event) => {
  const button = event.target.closest("[data-column]");
  if (!button) return;
  field.setRangeText(button.dataset.column, field.selectionStart, field.selectionEnd, "end");
  field.focus();
  field.dispatchEvent(new Event("input", { bubbles: true }));
});
keys.on("Ctrl+enter", () => form.requestSubmit(), "Run the query");

// Completion in a field: of a query, its field names and their values in this history; other languages say what they offer.
import { ask } from "./app.js";

let fields = null;
const values = new Map();
let number = 0;

async function known() {
  fields ??= (await ask("/search/fields")).fields;
  return fields;
}

async function valuesOf(field) {
  if (!values.has(field.name)) {
    const listed = field.values.length ? field.values : (await ask(`/search/values?field=${field.name}`)).values.map((value) => [value, ""]);
    values.set(field.name, listed);
  }
  return values.get(field.name);
}

/** The word at the cursor, with where it begins; none inside of quotes. */
function word(field) {
  const end = field.selectionStart;
  const before = field.value.slice(0, end);
  if (end !== field.selectionEnd || /\S/.test(field.value[end] ?? "")) return null;
  if ((before.match(/"/g) ?? []).length % 2) return null;
  const found = /(?:^|[\s(])-?([^\s("-][^\s("]*)$/.exec(before);
  return found && { text: found[1], start: end - found[1].length, end };
}

async function offers(here) {
  const all = await known();
  const colon = here.text.indexOf(":");
  if (colon < 0) {
    if (here.text.length < 2) return [];
    const typed = here.text.toLowerCase();
    return all.filter(({ name }) => name.startsWith(typed)).map(({ name, help }) => ({ text: `${name}:`, help, goesOn: true }));
  }
  const field = all.find(({ name }) => name === here.text.slice(0, colon).toLowerCase());
  if (!field?.completes) return [];
  const given = here.text.slice(colon + 1);
  const done = given.includes(",") ? given.slice(0, given.lastIndexOf(",") + 1) : "";
  const typed = given.slice(done.length).toLowerCase();
  const fits = (await valuesOf(field)).filter(([value]) => value.toLowerCase().includes(typed) && value.toLowerCase() !== typed && !value.includes('"'));
  fits.sort(([a], [b]) => Number(b.toLowerCase().startsWith(typed)) - Number(a.toLowerCase().startsWith(typed)));
  return fits.slice(0, 8).map(([value, help]) => ({ text: `${field.name}:${done}${/^[^\s()"“”„:/][^\s()"“”„*]*$|^\/(?!\/)[^\s()"“”„*]*$/.test(value) ? value : `"${value}"`}`, help }));
}

const ofQueries = { word, offers, place: null };

/**
 * Let a field complete what is typed into it; arrows choose, Tab or Enter take, Escape leaves. `word(field)` is what is completed, `offers(word)`
 * what may stand there, `place(word)` the box below which the list opens: the field's own if there is none.
 */
export function complete(field, { word, offers, place } = ofQueries) {
  if (!field) return;
  number += 1;
  const list = document.createElement("ul");
  Object.assign(list, { className: "completions", id: `completions-${number}`, hidden: true });
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Completions");
  field.after(list);
  const isLine = field.matches("input"); // a text of several lines cannot be a combobox
  const told = { "aria-autocomplete": "list", "aria-controls": list.id, ...(isLine && { role: "combobox" }) };
  for (const [name, value] of Object.entries(told)) field.setAttribute(name, value);
  const expand = (isOpen) => { list.hidden = !isOpen; if (isLine) field.setAttribute("aria-expanded", String(isOpen)); };
  expand(false);
  let shown = [];
  let chosen = -1;
  let turn = 0;

  function close() {
    turn += 1;
    shown = [];
    expand(false);
    field.removeAttribute("aria-activedescendant");
  }

  function choose(at) {
    chosen = at;
    for (const [place, option] of [...list.children].entries()) option.setAttribute("aria-selected", String(place === at));
    if (at < 0) field.removeAttribute("aria-activedescendant");
    else {
      field.setAttribute("aria-activedescendant", list.children[at].id);
      list.children[at].scrollIntoView({ block: "nearest" });
    }
  }

  function take(at) {
    const here = word(field);
    const offer = shown[at];
    if (!here || !offer) return;
    field.setRangeText(offer.goesOn || place ? offer.text : `${offer.text} `, here.start, here.end, "end");
    close();
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  async function look() {
    const here = word(field);
    if (!here) { close(); return; }
    turn += 1;
    const mine = turn;
    let found = [];
    try { found = await offers(here); } catch { /* only a help */ }
    if (mine !== turn || document.activeElement !== field) return;
    if (!found.length) { close(); return; }
    shown = found;
    list.replaceChildren(...found.map(({ text, help }, at) => {
      const option = document.createElement("li");
      option.id = `${list.id}-${at}`;
      option.setAttribute("role", "option");
      const code = document.createElement("code");
      code.textContent = text;
      const more = document.createElement("small");
      more.textContent = help;
      option.append(code, more);
      return option;
    }));
    const box = field.getBoundingClientRect();
    const at = place?.(here) ?? box;
    expand(true);
    list.style.width = `${Math.min(box.width, 480)}px`;
    const base = (list.offsetParent ?? document.body).getBoundingClientRect();
    list.style.left = `${Math.min(at.left, innerWidth - list.offsetWidth - 16) - base.left}px`;
    list.style.top = `${at.bottom - base.top}px`;
    choose(-1);
  }

  field.addEventListener("input", look);
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    if (list.hidden || event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      event.stopPropagation();
      choose((chosen + step + shown.length + (chosen < 0 && step < 0 ? 1 : 0)) % shown.length);
    } else if (event.key === "Enter" && chosen >= 0) {
      event.preventDefault();
      take(chosen);
    } else if (event.key === "Tab" && !event.shiftKey) {
      event.preventDefault();
      take(Math.max(chosen, 0));
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      close();
    }
  });
  list.addEventListener("mousedown", (event) => {
    event.preventDefault(); // the field keeps the focus
    const option = event.target.closest("[role=option]");
    if (option) take([...list.children].indexOf(option));
  });
}

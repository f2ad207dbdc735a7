// Pin, tags, title and notes of sessions, in place. Every element with data-remarks="SESSION_ID" shows them; one that has no
// buttons yet gets them. What the server answers is what is shown: a change that failed is taken back and said why.
import { ask, keys, say } from "./app.js";

const canWrite = !("readOnly" in document.body.dataset);
const path = (id, ...rest) => ["/api/sessions", id, ...rest].map((part, at) => (at ? encodeURIComponent(part) : part)).join("/");
const places = (id) => [...document.querySelectorAll("[data-remarks]")].filter((one) => one.dataset.remarks === id);

function make(name, props = {}, ...children) {
  const { data = {}, aria = {}, ...rest } = props;
  const made = Object.assign(document.createElement(name), rest);
  Object.assign(made.dataset, data);
  for (const [key, value] of Object.entries(aria)) made.setAttribute(key === "role" ? key : `aria-${key}`, value);
  made.append(...children);
  return made;
}

function icon(name) {
  return make("i", { className: `icon icon-${name}`, aria: { hidden: "true" } });
}

function tagLink(tag) {
  return make("a", { className: "chip tag", href: `/sessions?tag=${encodeURIComponent(tag)}`, textContent: tag });
}

/** Show what is known of a session wherever the page speaks of it. */
export function show(known) {
  const title = known.title || "(untitled)";
  for (const one of places(known.session_id)) {
    one.querySelector("[data-pin]")?.setAttribute("aria-pressed", String(known.pinned));
    one.querySelector("[data-tags]")?.replaceChildren(...known.tags.map(tagLink));
    const notes = one.querySelector("[data-notes]");
    if (notes) {
      const count = known.notes.length;
      notes.replaceChildren(...(count ? [make("span", { title: known.notes.join("\n"), textContent: count === 1 ? "1 note" : `${count} notes` })] : []));
    }
  }
  for (const one of document.querySelectorAll("[data-title-of]")) {
    if (one.dataset.titleOf === known.session_id) one.textContent = title;
  }
  document.dispatchEvent(new CustomEvent("hansard:remarks", { detail: known }));
}

/** Give elements that have none their buttons. */
export function enhance(root = document) {
  for (const one of root.querySelectorAll("[data-remarks]")) {
    if ("drawn" in one.dataset) continue;
    one.dataset.drawn = "";
    one.classList.add("remarks");
    const name = one.dataset.name ?? "this session";
    one.append(make("span", { className: "tags", data: { tags: "" } }), make("span", { className: "notes", data: { notes: "" } }));
    if (canWrite) {
      one.append(make("span", { className: "remarks-buttons" },
        make("button", { type: "button", className: "mark-button", title: "Pin", data: { pin: "" }, aria: { pressed: "false", label: `Pin ${name}` } }, icon("pin")),
        make("button", { type: "button", className: "mark-button", title: "Title, tags and notes", data: { remark: "" }, aria: { haspopup: "dialog", label: `Title, tags and notes of ${name}` } }, icon("tag"))));
    }
    ask(path(one.dataset.remarks, "remarks")).then(show, () => {});
  }
}

export async function togglePin(id) {
  if (!canWrite) return;
  const buttons = places(id).map((one) => one.querySelector("[data-pin]")).filter(Boolean);
  const was = buttons[0]?.getAttribute("aria-pressed") === "true";
  for (const button of buttons) button.setAttribute("aria-pressed", String(!was));
  try {
    show(await ask(path(id, "pin"), { method: was ? "DELETE" : "PUT" }));
    say(was ? "Unpinned" : "Pinned");
  } catch (error) {
    for (const button of buttons) button.setAttribute("aria-pressed", String(was));
    say(error.message);
  }
}

// -- the sheet

let sheet = null;
let known = null; // the remarks in it
let opener = null;

function part(name) { return sheet.querySelector(`[data-part=${name}]`); }

function build() {
  const button = (text, props = {}) => make("button", { className: "button", textContent: text, ...props });
  sheet = make("div", { className: "remark-sheet", id: "remark-sheet", popover: "auto", tabIndex: -1, aria: { role: "dialog", labelledby: "remark-title" } },
    make("h2", { id: "remark-title" }),
    make("form", { data: { part: "title" } },
      make("label", { htmlFor: "remark-name", textContent: "Title" }),
      make("div", { className: "row" },
        make("input", { id: "remark-name", className: "field", maxLength: 200, autocomplete: "off", required: true }),
        button("Rename")),
      make("div", {}, button("Restore the original title", { type: "button", className: "button plain", data: { own: "" } }))),
    make("form", { data: { part: "tags" } },
      make("label", { htmlFor: "remark-tag", textContent: "Tags" }),
      make("ul", { className: "chips", aria: { label: "Tags" } }),
      make("div", { className: "row" },
        make("input", { id: "remark-tag", className: "field", maxLength: 64, autocomplete: "off", autocapitalize: "off", required: true }),
        button("Add"))),
    make("form", { data: { part: "notes" } },
      make("label", { htmlFor: "remark-note", textContent: "Notes" }),
      make("ul", { className: "list", aria: { label: "Notes" } }),
      make("div", { className: "row" },
        make("textarea", { id: "remark-note", className: "field", rows: 2, maxLength: 10000, required: true }),
        button("Add"))),
    make("p", { className: "told bad", aria: { role: "alert" } }),
    make("div", { className: "done" }, button("Close", { type: "button", data: { close: "" } })),
    make("datalist", { id: "known-tags" }));
  sheet.querySelector("#remark-tag").setAttribute("list", "known-tags");
  document.body.append(sheet);

  part("title").addEventListener("submit", (event) => {
    event.preventDefault();
    change(() => ask(path(known.session_id, "title"), { method: "PUT", body: { title: event.target.querySelector("input").value } }), "Renamed");
  });
  sheet.querySelector("[data-own]").addEventListener("click", () => change(() => ask(path(known.session_id, "title"), { method: "DELETE" }), "Original title restored"));
  part("tags").addEventListener("submit", async (event) => {
    event.preventDefault();
    const field = event.target.querySelector("input");
    if (await change(() => ask(path(known.session_id, "tags", field.value.trim()), { method: "PUT" }))) field.value = "";
  });
  part("notes").addEventListener("submit", async (event) => {
    event.preventDefault();
    const field = event.target.querySelector("textarea");
    if (await change(() => ask(path(known.session_id, "notes"), { method: "POST", body: { text: field.value } }))) field.value = "";
  });
  sheet.addEventListener("click", (event) => {
    const take = event.target.closest("[data-take]");
    if (take?.dataset.take === "tag") change(() => ask(path(known.session_id, "tags", take.dataset.value), { method: "DELETE" }));
    if (take?.dataset.take === "note") change(() => ask(path(known.session_id, "notes", take.dataset.value), { method: "DELETE" }));
    if (event.target.closest("[data-close]")) close();
  });
  sheet.addEventListener("keydown", (event) => {
    event.stopPropagation(); // the page's keys do not reach in here
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("textarea")) event.target.form.requestSubmit();
    if (event.key === "Escape") close();
  });
  sheet.addEventListener("toggle", (event) => {
    if (event.newState === "closed" && (document.activeElement === document.body || sheet.contains(document.activeElement))) returnFocus();
  });
}

/** Hide the sheet. The focus moves at once: the next key would go to a field that is hidden already. */
function close() {
  sheet.hidePopover();
  returnFocus();
}

/** Back to where the sheet was opened from, or to what has taken its place since. */
function returnFocus() {
  const titles = [...document.querySelectorAll("a[data-title-of]")];
  (opener?.isConnected ? opener : titles.find((one) => one.dataset.titleOf === known?.session_id))?.focus({ preventScroll: true });
}

/** Do it, and show what came of it; the sheet says why where nothing did. */
async function change(action, done = "") {
  const told = sheet.querySelector(".told");
  told.textContent = "";
  sheet.setAttribute("aria-busy", "true");
  try {
    known = await action();
    show(known);
    fill();
    if (done) say(done);
    return true;
  } catch (error) {
    told.textContent = error.message;
    return false;
  } finally {
    sheet.removeAttribute("aria-busy");
  }
}

function fill() {
  sheet.querySelector("h2").textContent = known.title || "(untitled)";
  const name = part("title").querySelector("input");
  if (document.activeElement !== name) name.value = known.title;
  part("title").querySelector("[data-own]").hidden = !known.renamed;
  const take = (kind, value, label) => make("button", { type: "button", className: "take", textContent: "×", data: { take: kind, value }, aria: { label } });
  part("tags").querySelector("ul").replaceChildren(...known.tags.map((tag) => make("li", { className: "chip" }, tag, take("tag", tag, `Remove tag ${tag}`))));
  part("notes").querySelector("ul").replaceChildren(...known.notes.map((note, at) => make("li", {}, make("span", { textContent: note }), take("note", String(at + 1), `Remove note ${at + 1}`))));
}

function place(beside) {
  const box = beside.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = sheet;
  sheet.style.left = `${Math.max(8, Math.min(box.right - width, innerWidth - width - 8))}px`;
  sheet.style.top = `${Math.max(8, box.bottom + 6 + height > innerHeight ? Math.min(box.top - height - 6, innerHeight - height - 8) : box.bottom + 6)}px`;
}

/** Open the sheet of a session beside an element, at its "title", "tags" or "notes". */
export async function openRemarks(id, beside = null, at = "tags") {
  if (!canWrite) { say("This server was started with --read-only"); return; }
  if (!sheet) build();
  opener = beside ?? places(id).map((one) => one.querySelector("[data-remark]")).find(Boolean) ?? document.activeElement;
  try {
    known = await ask(path(id, "remarks"));
  } catch (error) {
    say(error.message);
    return;
  }
  sheet.querySelector(".told").textContent = "";
  for (const field of sheet.querySelectorAll("#remark-tag, textarea")) field.value = "";
  fill();
  part("title").querySelector("input").value = known.title;
  sheet.showPopover();
  place(opener);
  const field = part(at).querySelector("input, textarea");
  field.focus({ preventScroll: true });
  if (at === "title") field.select();
  try {
    const { values } = await ask("/search/values?field=tag");
    sheet.querySelector("datalist").replaceChildren(...values.map((value) => make("option", { value })));
  } catch { /* only a help */ }
}

/** The keys for remarks, on the session that `current` gives: its id, and the element to open the sheet beside. */
export function remarkKeys(current) {
  if (!canWrite) return;
  const on = (key, action, what) => keys.on(key, () => { const found = current(); if (found) action(found); }, what);
  on("p", ({ id }) => togglePin(id), "Pin or unpin");
  on("t", ({ id, beside }) => openRemarks(id, beside, "tags"), "Edit tags");
  on("r", ({ id, beside }) => openRemarks(id, beside, "title"), "Rename");
  on("a", ({ id, beside }) => openRemarks(id, beside, "notes"), "Add a note");
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-pin], [data-remark]");
  const id = button?.closest("[data-remarks]")?.dataset.remarks;
  if (!id) return;
  event.preventDefault();
  if ("pin" in button.dataset) togglePin(id);
  else openRemarks(id, button);
});
enhance();

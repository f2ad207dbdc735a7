// Selecting several sessions of a list or of search results, by mouse or by x, to pin, tag or export them together.
import { ask, keys, say } from "./app.js";
import { show } from "./remarks.js";

const MOST = 100;
const canWrite = !("readOnly" in document.body.dataset);
const path = (id, ...rest) => ["/api/sessions", ...[id, ...rest].map(encodeURIComponent)].join("/");

export function startSelection(list, current) {
  const bar = document.getElementById("selection");
  if (!bar) return; // sessions of a team's database
  const chosen = new Set();
  let anchor = null; // where a range begins
  const rows = () => [...list.querySelectorAll("[data-session]")];

  /** Show what is selected; also after rows were drawn again. */
  function draw() {
    for (const row of rows()) {
      const isChosen = chosen.has(row.dataset.session);
      row.classList.toggle("selected", isChosen);
      row.querySelector("[data-pick]").checked = isChosen;
    }
    bar.hidden = !chosen.size;
    bar.querySelector("output").textContent = `${chosen.size} selected${chosen.size > MOST ? ` (at most ${MOST} can be exported)` : ""}`;
    const asked = new URLSearchParams([...chosen].slice(0, MOST).map((id) => ["session", id]));
    for (const link of bar.querySelectorAll("a[download]")) {
      link.href = `/export/sessions.zip?format=${link.dataset.format}&${asked}`;
      link.hidden = chosen.size > MOST;
    }
  }

  function pick(row, isRange) {
    const all = rows();
    const from = all.findIndex((one) => one.dataset.session === anchor);
    const to = all.indexOf(row);
    const id = row.dataset.session;
    const isChosen = !chosen.has(id);
    const range = isRange && from >= 0 ? all.slice(Math.min(from, to), Math.max(from, to) + 1) : [row];
    for (const one of range) if (isChosen || isRange) chosen.add(one.dataset.session); else chosen.delete(one.dataset.session);
    anchor = id;
    draw();
  }

  function clear() {
    chosen.clear();
    anchor = null;
    draw();
  }

  async function each(action, done) {
    bar.setAttribute("aria-busy", "true");
    try {
      for (const id of chosen) show(await action(id));
      say(done);
    } catch (error) {
      say(error.message);
    } finally {
      bar.removeAttribute("aria-busy");
    }
  }

  list.dataset.selectable = "";
  list.addEventListener("click", (event) => {
    const box = event.target.closest("[data-pick]");
    if (box) pick(box.closest("[data-session]"), event.shiftKey);
  });
  new MutationObserver(() => { if (chosen.size) draw(); }).observe(list, { childList: true, subtree: true });
  bar.addEventListener("click", (event) => {
    const { act } = event.target.closest("[data-act]")?.dataset ?? {};
    if (act === "pin") each((id) => ask(path(id, "pin"), { method: "PUT" }), "Pinned");
    if (act === "unpin") each((id) => ask(path(id, "pin"), { method: "DELETE" }), "Unpinned");
    if (act === "clear") clear();
  });
  bar.querySelector("form")?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const field = event.target.elements.tag;
    const tag = field.value.trim();
    if (!tag) return;
    await each((id) => ask(path(id, "tags", tag), { method: "PUT" }), `Tagged ${tag}`);
    field.value = "";
  });
  const onRow = (isRange) => () => { const row = current(); if (row) pick(row, isRange); };
  keys.on("x", onRow(false), "Select this row");
  keys.on("X", onRow(true), "Select up to this row");
  if (!canWrite) for (const one of bar.querySelectorAll("[data-writes]")) one.hidden = true;
}

// Search in this session: matches are listed below the field, with links.
import { address, fetched } from "./session_windows.js";
import { highlight } from "./session_hits.js";
import { visit } from "./session_places.js";

const form = document.getElementById("find");
const field = document.getElementById("find-text");
const found = document.getElementById("found");
let timer = 0;
let asked = 0;

async function search() {
  const text = field.value.trim();
  const mine = ++asked;
  if (!text) { hide(); return; }
  const came = await fetched(address("/find", { q: text, bare: 1 }));
  if (mine !== asked || !came) return;
  found.replaceChildren(came);
  found.hidden = false;
}

function hide() { found.hidden = true; }
const links = () => [...found.querySelectorAll(".hits a")];

function go(link) {
  const way = visit(link.href);
  hide();
  if (!way) { location.assign(link.href); return; }
  history.pushState(null, "", link.href);
  highlight(field.value.trim());
  way();
}

export function start() {
  field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, 180); });
  field.addEventListener("focus", () => { if (found.childElementCount && field.value.trim()) found.hidden = false; });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    clearTimeout(timer);
    await search();
    links()[0]?.focus();
  });
  form.addEventListener("click", (event) => {
    const link = event.target.closest(".hits a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    go(link);
  });
  form.addEventListener("keydown", (event) => {
    const all = links();
    const at = all.indexOf(document.activeElement);
    if (event.key === "ArrowDown" && all.length) { event.preventDefault(); all[Math.min(all.length - 1, at + 1)].focus(); }
    else if (event.key === "ArrowUp" && at >= 0) { event.preventDefault(); (all[at - 1] ?? field).focus(); }
    else if (event.key === "Escape" && !found.hidden) { // the next one clears the field, as elsewhere
      event.preventDefault();
      event.stopPropagation();
      field.focus();
      hide();
    }
  });
  document.addEventListener("pointerdown", (event) => { if (!form.contains(event.target)) hide(); });
}

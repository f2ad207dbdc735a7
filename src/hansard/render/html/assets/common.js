"use strict";
// What every page does: remember light or dark. Storage may be refused to a file; then it lasts as long as the page.
const root = document.documentElement;
const memory = {
  get() { try { return localStorage.getItem("hansard-theme"); } catch { return null; } },
  set(value) { try { localStorage.setItem("hansard-theme", value); } catch { /* no storage */ } },
};
if (["light", "dark"].includes(memory.get())) root.dataset.theme = memory.get();

function switchTheme() {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  memory.set(root.dataset.theme);
}

function isTyping(event) {
  return event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea, dialog[open]");
}

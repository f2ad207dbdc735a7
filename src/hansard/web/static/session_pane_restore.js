"use strict";
// Before the first paint: the session list as it was on the page before, and whether it is shown.
(() => {
  const read = (storage, name) => { try { return storage.getItem(name); } catch { return null; } };
  if (read(localStorage, "hansard-pane") === "closed") document.documentElement.classList.add("pane-closed");
  const before = JSON.parse(read(sessionStorage, "hansard-pane") ?? "null");
  if (!before) return;
  const body = document.getElementById("pane-body");
  body.innerHTML = before.html;
  body.scrollTop = before.top;
  document.getElementById("pane-filter").value = before.query;
})();

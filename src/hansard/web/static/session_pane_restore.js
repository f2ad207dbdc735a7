"use strict";
// Before the first paint: the session list as it was on the page before, whether it is shown, and which kinds of messages are.
(() => {
  const read = (storage, name) => { try { return storage.getItem(name); } catch { return null; } };
  const root = document.documentElement;
  if (read(localStorage, "hansard-pane") === "closed") root.classList.add("pane-closed");
  for (const kind of JSON.parse(read(sessionStorage, "hansard-reading") ?? "{}").off ?? []) root.classList.add(`no-${kind}`);
  const list = read(sessionStorage, "hansard-list") ?? ""; // the list that the reader came from
  document.getElementById("pane-filter").value = new URLSearchParams(list).get("q") ?? "";
  const before = JSON.parse(read(sessionStorage, "hansard-pane") ?? "null");
  if (before?.list !== list) return;
  const body = document.getElementById("pane-body");
  body.innerHTML = before.html;
  body.scrollTop = before.top;
})();

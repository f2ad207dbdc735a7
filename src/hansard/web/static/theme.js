"use strict";
// Before anything is painted: light or dark, as it was chosen last.
(() => {
  let chosen = null;
  try { chosen = localStorage.getItem("hansard-theme"); } catch { /* no storage */ }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();

"use strict";
// Before anything is painted: light or dark, and how dense, as it was chosen last; the system decides where nothing was.
(() => {
  const allowed = { theme: ["light", "dark"], density: ["compact"] };
  for (const [name, values] of Object.entries(allowed)) {
    let chosen = null;
    try { chosen = localStorage.getItem(`hansard-${name}`); } catch { /* no storage */ }
    if (values.includes(chosen)) document.documentElement.dataset[name] = chosen;
  }
})();

// Usage: j and k move through the rows; empty parameters are left out of addresses.
import { walk } from "./keys.js";

walk(() => [...document.querySelectorAll(".ledger tbody tr, .messages .message")]);

document.querySelector(".filter-form")?.addEventListener("submit", (event) => {
  const empty = [...event.target.elements].filter((field) => field.name && !field.value);
  for (const field of empty) field.disabled = true;
  setTimeout(() => { for (const field of empty) field.disabled = false; });
});

// Another report or range is another page, which opens where this one was.
const PLACE = "hansard-usage-place";
addEventListener("click", (event) => {
  const link = event.target.closest?.(".reports a, .tools .switch a, .ledger th a, .pages a");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  try { sessionStorage.setItem(PLACE, String(scrollY)); } catch { return; /* no storage: as the link says */ }
  event.preventDefault();
  location.assign(link.href.replace(/#.*$/, "")); // a fragment would scroll later
});
try {
  const place = sessionStorage.getItem(PLACE);
  sessionStorage.removeItem(PLACE);
  if (place !== null) scrollTo({ top: Number(place), behavior: "instant" });
} catch { /* no storage */ }

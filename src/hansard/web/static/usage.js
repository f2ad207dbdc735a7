// Usage: rows by j and k, and addresses without what was left empty.
import { walk } from "./keys.js";

walk(() => [...document.querySelectorAll(".ledger tbody tr, .messages .message")]);

document.querySelector(".filter-form")?.addEventListener("submit", (event) => {
  const empty = [...event.target.elements].filter((field) => field.name && !field.value);
  for (const field of empty) field.disabled = true;
  setTimeout(() => { for (const field of empty) field.disabled = false; });
});

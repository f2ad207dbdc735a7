// How this browser shows pages: kept here, and applied by theme.js before anything is painted.
import { say } from "./app.js";

const root = document.documentElement;
const form = document.getElementById("look");

for (const name of ["theme", "density"]) {
  for (const radio of form.elements[name]) radio.checked = radio.value === (root.dataset[name] ?? "");
}

form.addEventListener("change", (event) => {
  const { name, value } = event.target;
  if (value) root.dataset[name] = value; else delete root.dataset[name];
  try { if (value) localStorage.setItem(`hansard-${name}`, value); else localStorage.removeItem(`hansard-${name}`); } catch { /* no storage: until the next page */ }
});

// Sent by a script: a browser gives the form of a page without referrer no origin, and the server refuses it.
document.getElementById("redaction").addEventListener("submit", async (event) => {
  event.preventDefault();
  const body = new URLSearchParams({ redact: event.submitter.dataset.redact });
  try {
    const answer = await fetch(event.target.action, { method: "POST", body });
    if (answer.ok) location.reload(); else say("The server refused the change");
  } catch {
    say("The server does not answer");
  }
});

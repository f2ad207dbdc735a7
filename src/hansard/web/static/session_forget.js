// The form that erases what its page shows. Sent by a script: a browser gives the form of a page without referrer no origin.
import { say } from "./app.js";

const form = document.getElementById("forget");
const told = document.getElementById("forgotten");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  say("Erasing…");
  try {
    const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
    if (answer.status === 409) { location.reload(); return; }
    const words = answer.ok ? await answer.text() : new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main")?.textContent.trim() ?? "";
    told.textContent = answer.ok ? words : `The server refused: ${words}`;
    told.hidden = false;
    if (answer.ok) form.remove(); else button.disabled = false;
  } catch {
    button.disabled = false;
    say("The server does not answer");
  }
});

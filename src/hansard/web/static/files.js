// Files and tools: a list that updates with its filter, changes loaded when opened, and keys j, k, o for the rows.
import { keys, say } from "./app.js";
import { walk } from "./keys.js";
import { address, follow } from "./listing.js";

const rows = () => [...document.querySelectorAll("#results tbody tr, #results .step")].filter((row) => row.querySelector("a[href]"));
walk(rows);

async function drawn(address, signal) {
  const answer = await fetch(address, { headers: { accept: "text/html" }, signal });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (!answer.ok) throw new Error(page.querySelector(".lead")?.textContent ?? answer.statusText);
  return page;
}

async function toggle(button) {
  const box = document.getElementById(button.getAttribute("aria-controls"));
  const opens = button.getAttribute("aria-expanded") !== "true";
  button.setAttribute("aria-expanded", String(opens));
  box.hidden = !opens;
  const address = button.dataset.src;
  if (!opens || !address) return;
  delete button.dataset.src;
  const change = box.querySelector(".change");
  change.setAttribute("aria-busy", "true");
  try {
    const page = await drawn(address);
    change.replaceChildren(...page.body.childNodes);
  } catch (error) {
    button.dataset.src = address;
    change.textContent = `Could not load it: ${error.message}`;
  } finally {
    change.removeAttribute("aria-busy");
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest(".toggle[aria-controls]");
  if (button) toggle(button);
});

if (document.querySelector(".toggle[aria-controls]") || document.querySelector("#results")) {
  keys.on("o", () => {
    const row = rows().find((one) => one.contains(document.activeElement));
    const button = row?.querySelector(".toggle");
    if (button) toggle(button);
  }, "Expand or collapse this one");
}

const form = document.querySelector("form[data-live]");
const results = document.getElementById("results");

function draw(page) {
  results.replaceChildren(...page.getElementById("results").childNodes);
  for (const [number, nav] of document.querySelectorAll("nav.switch").entries()) {
    const other = page.querySelectorAll("nav.switch")[number];
    if (other && !nav.closest("#results")) nav.replaceChildren(...other.childNodes);
  }
  results.removeAttribute("aria-busy");
}

if (form) {
  follow(form, {
    look: (asked, signal) => { results.setAttribute("aria-busy", "true"); return drawn(address(location.pathname, asked), signal); },
    draw,
    failed: (error) => { results.removeAttribute("aria-busy"); say(error.message); },
  });
}

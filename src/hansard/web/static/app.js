// Shared by all pages: keys, theme, command palette, toast messages.
import { keys, isTyping } from "./keys.js";
import { onNews } from "./live.js";
import { openPalette } from "./palette.js";
import { startQuick } from "./quick.js";
import { startScrollable } from "./scrollable.js";
import { startDates } from "./dates.js";

const root = document.documentElement;
const quick = document.getElementById("quick");

export function say(text) {
  const toast = document.getElementById("toast");
  toast.textContent = text;
  toast.hidden = false;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { toast.hidden = true; }, 2500);
}

export function switchTheme() {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("hansard-theme", root.dataset.theme); } catch { /* no storage: until the next page */ }
}

export async function copy(text, what = "Copied") {
  try {
    await navigator.clipboard.writeText(text);
    say(what);
  } catch {
    say("The browser blocked copying");
  }
}

/** Ask our API; an error is thrown with the words that the server said. */
export async function ask(path, { method = "GET", body, signal } = {}) {
  const answer = await fetch(path, {
    method,
    signal,
    headers: body === undefined ? { accept: "application/json" } : { accept: "application/json", "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const value = answer.status === 204 ? null : await answer.json();
  if (!answer.ok) throw new Error(value?.error?.message ?? answer.statusText);
  return value;
}

function help() {
  const list = document.getElementById("help-keys");
  list.replaceChildren(...keys.listed().map(([name, what]) => {
    const row = document.createElement("div");
    const term = document.createElement("dt");
    for (const part of name.split(" ")) {
      const key = document.createElement("kbd");
      key.textContent = part;
      term.append(key, " ");
    }
    const told = document.createElement("dd");
    told.textContent = what;
    row.append(term, told);
    return row;
  }));
  const sheet = document.getElementById("help");
  sheet.showModal();
  sheet.scrollTop = 0; // the focus goes to its button, which is below the last key
}

if (quick) {
  // By hand: scrollIntoView would also begin the Tab order there.
  const here = document.querySelector(".places [aria-current]");
  if (here) here.parentElement.scrollLeft = here.offsetLeft - (here.parentElement.clientWidth - here.offsetWidth) / 2;
  for (const place of document.querySelectorAll(".places a[data-key]")) {
    keys.on(`g ${place.dataset.key}`, () => { location.href = place.href; }, place.textContent.trim());
  }
  startQuick(quick);
  startScrollable();
  startDates();
  keys.on("/", () => {
    const field = [...document.querySelectorAll("[data-search]")].find((one) => one.checkVisibility()) ?? quick;
    field.focus({ preventScroll: true });
    field.select();
  }, "Search");
  keys.on("?", help, "Keyboard shortcuts");
  keys.on("D", switchTheme, "Toggle dark mode");
  keys.on("Ctrl+k", openPalette, "Command palette");
  document.getElementById("theme-button").addEventListener("click", switchTheme);
  document.getElementById("help-button").addEventListener("click", help);
  document.getElementById("palette-button").addEventListener("click", openPalette);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (button) { event.preventDefault(); copy(button.dataset.copy, button.dataset.copied ?? "Copied"); }
  });
  for (const dialog of document.querySelectorAll("dialog.sheet")) {
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  }
}

export { keys, isTyping };

onNews(() => {}); // every page says so when the server has gone away

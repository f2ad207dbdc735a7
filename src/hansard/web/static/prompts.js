// Everything that was typed: follows its form, copies whole texts, and opens long ones.
import { copy, keys, say } from "./app.js";
import { walk } from "./keys.js";
import { address, follow, goOn, nodes, piece, wished } from "./listing.js";
import { complete } from "./completion.js";
import { latest } from "./latest.js";
import { onNews } from "./live.js";

const form = document.getElementById("ask");
const list = document.getElementById("list");
const part = (asked, name) => { const more = new URLSearchParams(asked); more.set("part", name); return address("/prompts", more); };
const counting = latest((asked, signal) => piece(part(asked, "count"), signal), (words) => {
  document.getElementById("count").textContent = words;
});

/** Offer to open what is cut off. */
function fold() {
  for (const text of list.querySelectorAll(".typed:not([data-seen])")) {
    text.dataset.seen = "";
    if (text.dataset.whole || text.scrollHeight <= text.clientHeight + 2) continue;
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "button plain whole", textContent: "Show all" });
    button.dataset.act = "whole";
    text.after(button);
  }
}

function draw(html, asked) {
  const fresh = nodes(html);
  const mistake = fresh.querySelector("[data-mistakes]");
  document.getElementById("q-mistake").replaceChildren(...(mistake ? mistake.content.childNodes : []));
  mistake?.remove();
  list.replaceChildren(fresh);
  const narrowed = new URLSearchParams(asked);
  narrowed.delete("unique");
  document.getElementById("clear").hidden = String(narrowed) === "";
  fold();
  counting.now(asked);
}

const open = goOn(list, (href) => part(new URL(href, location).searchParams, "rows"), fold);
follow(form, { look: (asked, signal) => piece(part(asked, "list"), signal), draw, failed: (error) => say(error.message), open });
complete(form.querySelector("[data-complete]"));

/** The whole text of a prompt; long ones are asked for. */
async function whole(text) {
  if (!text.dataset.whole) return text.textContent;
  const given = await piece(text.dataset.whole);
  text.textContent = given;
  delete text.dataset.whole;
  return given;
}

list.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-act]");
  const text = button?.closest("[data-row]")?.querySelector(".typed");
  if (!text) return;
  try {
    if (button.dataset.act === "copy") {
      await copy(await whole(text), "Prompt copied");
    } else if (text.classList.contains("open")) {
      text.classList.remove("open");
      button.textContent = "Show all";
    } else {
      await whole(text);
      text.classList.add("open");
      button.textContent = "Show less";
    }
  } catch (error) {
    say(error.message);
  }
});

const rows = () => [...list.querySelectorAll("[data-row]")];
const current = () => document.activeElement?.closest?.("[data-row]") ?? rows()[0];
walk(() => rows().map((row) => row.querySelector("[data-open]") ?? row));
keys.on("y", () => current()?.querySelector("[data-act=copy]").click(), "Copy text");
keys.on("o", () => current()?.querySelector("[data-act=whole]")?.click(), "Expand or collapse this one");

// New prompts are shown only while the reader is at the top.
onNews(async () => {
  if (scrollY > 200 || list.contains(document.activeElement)) return;
  const asked = wished(form);
  try {
    const html = await piece(part(asked, "list"));
    const top = (root) => root.querySelector("[data-row] .typed")?.textContent;
    if (String(asked) === String(wished(form)) && top(nodes(html)) !== top(list)) draw(html, asked);
  } catch { /* the next news will do */ }
}, Number(list.dataset.revision));
fold();
counting.now(wished(form));

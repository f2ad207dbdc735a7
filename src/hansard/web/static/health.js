// Health: loads the check of the databases when it is done; j and k move through the links.
import { walk } from "./keys.js";

walk(() => [...document.querySelectorAll(".health table.rows a[href]")].filter((link) => link.checkVisibility()));

const box = document.getElementById("check");
try {
  const answer = await fetch(box.dataset.src, { headers: { accept: "text/html" } });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (!answer.ok) throw new Error(page.querySelector(".lead")?.textContent ?? answer.statusText);
  box.replaceChildren(...page.body.childNodes);
} catch (error) {
  const told = document.createElement("p");
  told.className = "verdict error";
  told.textContent = error.message;
  box.replaceChildren(told);
} finally {
  box.removeAttribute("aria-busy");
}

// The raw line: copied verbatim, regardless of its length.
import { copy, say } from "./app.js";

const MOST = 16 << 20; // bytes that a clipboard is given

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-raw-copy]");
  if (!button) return;
  if (Number(button.dataset.length) > MOST) { say("Too long to copy; download it"); return; }
  try {
    const answer = await fetch(button.dataset.rawCopy);
    if (!answer.ok) throw new Error(answer.statusText);
    await copy(await answer.text(), "Line copied");
  } catch {
    say("Could not load the line");
  }
});

/** Show the line at an address in a sheet over the page. */
export async function showRaw(sheet, url, fetched) {
  const came = await fetched(`${url}&form=piece`);
  if (!came) return;
  const close = document.createElement("form");
  close.method = "dialog";
  const button = document.createElement("button");
  button.textContent = "Close";
  close.append(button);
  sheet.replaceChildren(came, close);
  sheet.showModal();
  sheet.scrollTop = 0;
}

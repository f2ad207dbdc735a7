// The calendar for a range of days: it closes like a menu, and keeps what was asked for since the page was loaded.
export function startDates() {
  const box = document.querySelector("details.dates");
  if (!box) return;
  document.addEventListener("click", (event) => { if (!box.contains(event.target)) box.open = false; });
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !box.open) return;
    event.stopPropagation();
    box.open = false;
    box.querySelector("summary").focus();
  });
  // Another beginning is not bounded by the last day that was chosen here.
  document.querySelector("select[name=since]")?.addEventListener("input", (event) => {
    event.target.form.elements.until.value = "";
    const summary = box.querySelector("summary");
    summary.textContent = "Dates";
    summary.removeAttribute("aria-current");
  });
  const form = document.getElementById("dates");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const asked = new URLSearchParams(location.search);
    for (const name of ["range", "cursor", "skip"]) asked.delete(name);
    for (const name of ["since", "until"]) {
      const { value } = form.elements[name];
      if (value) asked.set(name, value); else asked.delete(name);
    }
    location.assign(`${form.getAttribute("action")}?${asked}`);
  });
}

// Filters and sorts the list of sessions.
document.addEventListener("DOMContentLoaded", () => {
  const list = document.getElementById("sessions");
  const input = document.getElementById("find-text");
  const count = document.getElementById("find-count");
  const sort = document.getElementById("sort");
  const rows = [...list.querySelectorAll(".session")].map((row) => ({
    row, home: row.parentElement, text: `${row.textContent} ${row.dataset.project}`.toLowerCase(),
  }));
  const groups = [...list.querySelectorAll(".group")];
  const flat = document.createElement("ul");
  flat.className = "sessions";
  flat.hidden = true;
  list.prepend(flat);

  function filter() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { row, text } of rows) {
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    for (const group of groups) group.hidden = !sort.value ? !group.querySelector(".session:not([hidden])") : true;
    count.textContent = words.length ? `${shown} of ${rows.length}` : "";
  }

  function arrange() {
    const key = sort.value;
    flat.hidden = !key;
    if (key) {
      const ordered = [...rows].sort((a, b) => b.row.dataset[key] - a.row.dataset[key]);
      flat.append(...ordered.map(({ row }) => row));
    } else {
      for (const { row, home } of rows) home.append(row);
    }
    filter();
  }

  input.addEventListener("input", filter);
  sort.addEventListener("change", arrange);
  document.getElementById("find").addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-do='theme']")) switchTheme();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target === input) { input.value = ""; filter(); input.blur(); }
    if (isTyping(event)) return;
    if (event.key === "/") { event.preventDefault(); input.focus(); }
    if (event.key === "t") switchTheme();
  });
  arrange(); // a browser may have kept what was typed
});

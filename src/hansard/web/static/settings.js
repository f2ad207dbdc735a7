// How this browser shows pages: kept here, and applied by theme.js before anything is painted.
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

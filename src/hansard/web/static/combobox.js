// A field with a list of options in groups (the ARIA combobox pattern): the focus stays in the field, arrows move the selection.

function marked(pieces) {
  const span = document.createElement("span");
  span.append(...pieces.map(([text, isMarked]) => {
    if (!isMarked) return text;
    const bold = document.createElement("b");
    bold.textContent = text;
    return bold;
  }));
  return span;
}

function option(item, id, number) {
  const row = document.createElement("div");
  row.id = id;
  row.setAttribute("role", "option");
  row.dataset.number = String(number);
  row.append(marked(item.pieces ?? [[item.name, false]]));
  if (item.hint) {
    const hint = document.createElement("small");
    hint.textContent = item.hint;
    row.append(hint);
  }
  return row;
}

/**
 * `take(item, elsewhere)` is called for Enter and clicks; `label` names the list. With `first` the first option is selected, until
 * the user selects another one; without it none is, and Enter is left to the field's form.
 */
export function combobox(field, list, { take, label, first = false }) {
  let items = [];
  let rows = [];
  let selected = -1;
  let moved = false; // by the user, so that a later answer must not move it

  for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": list.id })) field.setAttribute(name, value);
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", label);
  list.tabIndex = -1;
  list.hidden = true;

  const key = (item) => item && `${item.open ?? ""} ${item.name}`;

  function select(number) {
    selected = number;
    for (const [at, row] of rows.entries()) row.setAttribute("aria-selected", String(at === number));
    if (number < 0) { field.removeAttribute("aria-activedescendant"); return; }
    field.setAttribute("aria-activedescendant", rows[number].id);
    if (number === 0) list.scrollTop = 0; else rows[number].scrollIntoView({ block: "nearest" });
  }

  function close() {
    list.hidden = true;
    list.replaceChildren();
    items = [];
    rows = [];
    moved = false;
    field.setAttribute("aria-expanded", "false");
    select(-1);
  }

  /** Show groups of options, each a name and its items; where the user moved the selection, it stays on its item. */
  function draw(groups) {
    const held = moved ? key(items[selected]) : null;
    items = [];
    rows = [];
    list.replaceChildren(...groups.map(([name, found]) => {
      const group = document.createElement("li");
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", name);
      const heading = document.createElement("div");
      heading.setAttribute("role", "presentation");
      heading.textContent = name;
      group.append(heading);
      for (const item of found) {
        const row = option(item, `${list.id}-${items.length}`, items.length);
        items.push(item);
        rows.push(row);
        group.append(row);
      }
      return group;
    }));
    list.hidden = !items.length;
    field.setAttribute("aria-expanded", String(items.length > 0));
    const again = held === null ? -1 : items.findIndex((item) => key(item) === held);
    moved = again >= 0;
    select(moved ? again : first && items.length ? 0 : -1);
  }

  function step(by) {
    if (!items.length) return;
    moved = true;
    const least = first ? 0 : -1; // -1: back in the field
    const count = items.length - least;
    select(((selected - least + by + count) % count) + least);
  }

  field.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by && items.length) {
      event.preventDefault();
      step(by);
    } else if (event.key === "Enter" && selected >= 0) {
      event.preventDefault();
      take(items[selected], event.ctrlKey || event.metaKey);
    }
  });
  list.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
  list.addEventListener("click", (event) => {
    const row = event.target.closest("[data-number]");
    if (row) take(items[Number(row.dataset.number)], event.ctrlKey || event.metaKey);
  });
  list.addEventListener("mousemove", (event) => {
    const row = event.target.closest("[data-number]");
    if (!row || (!event.movementX && !event.movementY)) return; // the list moved, not the mouse
    moved = true;
    if (Number(row.dataset.number) !== selected) select(Number(row.dataset.number));
  });
  return { close, draw };
}

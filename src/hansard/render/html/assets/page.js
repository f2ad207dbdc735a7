// Reading a session: filters, find, keys, links to places. One listener of each kind for the whole page.
document.addEventListener("DOMContentLoaded", () => {
  const main = document.getElementById("conversation");
  const outline = document.getElementById("outline");
  const input = document.getElementById("find-text");
  const count = document.getElementById("find-count");
  const help = document.getElementById("help");
  const toast = document.getElementById("toast");
  const buttons = [...document.querySelectorAll("[data-filter]")];

  // -- places

  function reveal(element) {
    for (let outer = element; outer && outer !== main; outer = outer.parentElement) {
      if (outer.tagName === "DETAILS") outer.open = true;
    }
    const group = element.closest(".item")?.className.match(/\bof-(\w+)/)?.[1];
    if (group && root.classList.contains(`no-${group}`)) press(buttons.find((button) => button.dataset.filter === group));
    if (element.classList.contains("item")) element.querySelector(":scope > details")?.setAttribute("open", "");
  }

  // What is above may get its real height only when it is near: look again until the place stays where it is.
  function bring(target, block = "start") {
    let before = null;
    let times = 0;
    const look = () => {
      target.scrollIntoView({ block, behavior: "instant" });
      const now = (target.getBoundingClientRect ? target : target.startContainer.parentElement).getBoundingClientRect().top;
      if (times++ < 12 && now !== before) { before = now; requestAnimationFrame(look); }
    };
    look();
  }

  function goTo(id) {
    const target = id && document.getElementById(id);
    if (!target || !main.contains(target)) return false;
    reveal(target);
    bring(target);
    return true;
  }

  const hash = () => { try { return decodeURIComponent(location.hash.slice(1)); } catch { return ""; } };
  addEventListener("hashchange", () => goTo(hash()));

  function say(text) {
    toast.textContent = text;
    toast.hidden = false;
    clearTimeout(say.timer);
    say.timer = setTimeout(() => { toast.hidden = true; }, 1800);
  }

  // -- turns

  const turns = () => [...main.querySelectorAll(":scope > .turn, :scope > .branch[open] > .turn")].filter((turn) => !turn.hidden);

  function turnHere() {
    const line = document.getElementById("bar").getBoundingClientRect().bottom + 24;
    const box = main.getBoundingClientRect();
    const hit = document.elementFromPoint(box.left + Math.min(box.width / 2, 200), line)?.closest(".turn");
    if (hit) return hit;
    return turns().findLast((turn) => turn.getBoundingClientRect().top <= line) ?? null;
  }

  function step(by) {
    const all = turns();
    const here = turnHere();
    const at = here ? all.indexOf(here) : -1;
    let next = all[Math.max(0, Math.min(all.length - 1, at + by))];
    if (by < 0 && here && here.getBoundingClientRect().top < document.getElementById("bar").getBoundingClientRect().bottom - 4) next = here;
    if (!next) return;
    bring(next);
    next.focus({ preventScroll: true });
  }

  function openTurn() {
    const folds = [...(turnHere()?.querySelectorAll("details:not(.more, .branch)") ?? [])];
    const open = folds.some((fold) => !fold.open);
    for (const fold of folds) fold.open = open;
  }

  let marked = null;
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      const turn = turnHere();
      if (turn === marked) return;
      marked = turn;
      outline.querySelector("[aria-current]")?.removeAttribute("aria-current");
      const link = turn && outline.querySelector(`a[href="#${turn.id}"]`);
      if (!link) return;
      link.setAttribute("aria-current", "true");
      const list = outline.querySelector("ol");
      const [inner, outer] = [link.getBoundingClientRect(), list.getBoundingClientRect()];
      if (inner.top < outer.top || inner.bottom > outer.bottom) list.scrollTop += inner.top - outer.top - outer.height / 3;
    });
  }, { passive: true });

  // -- filters

  function press(button) {
    const shown = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(shown));
    root.classList.toggle(`no-${button.dataset.filter}`, !shown);
    const off = new Set(buttons.filter((other) => other.getAttribute("aria-pressed") !== "true").map((other) => other.dataset.filter));
    for (const turn of main.querySelectorAll(".turn")) turn.hidden = turn.dataset.holds.split(" ").every((kind) => off.has(kind));
    if (input.value) search();
  }

  // -- find: texts are gathered block by block, in slices of time, so that a long session stays usable

  const found = { ranges: [], at: -1, run: 0, text: "", done: Promise.resolve() };
  const marks = globalThis.Highlight && CSS.highlights ? { all: new Highlight(), now: new Highlight() } : null;
  if (marks) { CSS.highlights.set("found", marks.all); CSS.highlights.set("found-now", marks.now); }
  const LIMIT = 5000;
  const BLOCKS = "P,LI,TD,TH,PRE,DD,DT,H3,H4,H5,H6,SUMMARY,BLOCKQUOTE,DIV,ARTICLE,SECTION,DETAILS";
  const isBlock = new Set(BLOCKS.split(","));

  function* blocksOfText() {
    const walker = document.createTreeWalker(main, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, {
      acceptNode(node) {
        if (node.nodeType === 3) return NodeFilter.FILTER_ACCEPT;
        if (node.hidden || node.classList.contains("at") || node.classList.contains("lines")) return NodeFilter.FILTER_REJECT;
        const group = node.classList.contains("item") && node.className.match(/\bof-(\w+)/)?.[1];
        return group && root.classList.contains(`no-${group}`) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT;
      },
    });
    let nodes = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.nodeType === 3) nodes.push(node);
      else if (isBlock.has(node.tagName) && nodes.length) { yield nodes; nodes = []; }
    }
    if (nodes.length) yield nodes;
  }

  // Any case, any kind of space; places stay what they are, so the one letter whose small form is longer is replaced.
  const folded = (text) => text.replaceAll("\u0130", "I").toLowerCase().replace(/\s/g, " ");

  function matchesIn(nodes, wanted) {
    const low = folded(nodes.length === 1 ? nodes[0].data : nodes.map((node) => node.data).join(""));
    const ranges = [];
    let [node, begins] = [0, 0];
    for (let at = low.indexOf(wanted); at >= 0; at = low.indexOf(wanted, at + wanted.length)) {
      while (at >= begins + nodes[node].length) begins += nodes[node++].length;
      const range = document.createRange();
      range.setStart(nodes[node], at - begins);
      let [last, lastBegins] = [node, begins];
      while (at + wanted.length > lastBegins + nodes[last].length) lastBegins += nodes[last++].length;
      range.setEnd(nodes[last], at + wanted.length - lastBegins);
      ranges.push(range);
    }
    return ranges;
  }

  function search() {
    const wanted = folded(input.value);
    const run = ++found.run;
    found.text = input.value;
    found.ranges = [];
    found.at = -1;
    marks?.all.clear();
    marks?.now.clear();
    found.done = Promise.resolve();
    if (!wanted.trim()) { count.textContent = ""; return; }
    const blocks = blocksOfText();
    found.done = new Promise((resolve) => {
      const slice = () => {
        if (run !== found.run) { resolve(); return; }
        const until = performance.now() + 12;
        while (performance.now() < until) {
          const { value, done } = blocks.next();
          if (done || found.ranges.length >= LIMIT) { tell(); resolve(); return; }
          for (const range of matchesIn(value, wanted)) {
            found.ranges.push(range);
            marks?.all.add(range);
          }
        }
        tell();
        setTimeout(slice);
      };
      slice();
    });
  }

  function tell() {
    const many = found.ranges.length >= LIMIT ? `${LIMIT}+` : found.ranges.length;
    count.textContent = found.at >= 0 ? `${found.at + 1} of ${many}` : many ? `${many} found` : "nothing found";
  }

  async function move(by) {
    if (!input.value.trim()) return;
    if (found.text !== input.value) search();
    await found.done;
    const total = found.ranges.length;
    if (!total) { tell(); return; }
    found.at = found.at < 0 ? (by > 0 ? 0 : total - 1) : (found.at + by + total) % total;
    const range = found.ranges[found.at];
    const element = range.startContainer.parentElement;
    reveal(element);
    bring(element.closest("pre") ? rowOf(range) : element, "center");
    marks?.now.clear();
    marks?.now.add(range);
    if (!marks) getSelection().setBaseAndExtent(range.startContainer, range.startOffset, range.endContainer, range.endOffset);
    tell();
  }

  // A place in a long block of lines: scroll to the line, not to the block.
  function rowOf(range) {
    return {
      getBoundingClientRect: () => range.getBoundingClientRect(),
      scrollIntoView() {
        const box = range.getBoundingClientRect();
        scrollBy({ top: box.top - innerHeight / 2, behavior: "instant" });
        const pre = range.startContainer.parentElement.closest("pre");
        const outer = pre.getBoundingClientRect();
        if (box.left < outer.left || box.right > outer.right) pre.scrollLeft += box.left - outer.left - outer.width / 3;
      },
    };
  }

  let typing = 0;
  input.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(search, 150);
  });
  document.getElementById("find").addEventListener("submit", (event) => event.preventDefault());

  // -- clicks and keys

  const deeds = {
    theme: switchTheme,
    help: () => { if (help.open) help.close(); else help.showModal(); },
    next: () => move(1),
    previous: () => move(-1),
  };

  document.addEventListener("click", (event) => {
    const target = event.target;
    const filter = target.closest("[data-filter]");
    if (filter) { press(filter); return; }
    const deed = target.closest("[data-do]");
    if (deed) { deeds[deed.dataset.do](); return; }
    if (target.classList.contains("picture")) { target.classList.toggle("whole"); return; }
    const link = target.closest("a[href^='#']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const id = link.getAttribute("href").slice(1);
    if (link.classList.contains("at")) {
      event.preventDefault();
      history.replaceState(null, "", `#${id}`);
      const address = location.href;
      Promise.resolve(navigator.clipboard?.writeText(address)).then(() => say("Link copied"), () => say("Link is in the address bar"));
    } else if (main.contains(document.getElementById(id))) {
      event.preventDefault();
      if (outline.contains(link) && innerWidth < 1088) outline.querySelector("details").open = false;
      history.pushState(null, "", `#${id}`);
      goTo(id);
    }
  });
  addEventListener("popstate", () => goTo(hash()));

  document.addEventListener("keydown", (event) => {
    if (event.target === input) {
      if (event.key === "Enter") { event.preventDefault(); clearTimeout(typing); move(event.shiftKey ? -1 : 1); }
      if (event.key === "Escape") { input.value = ""; search(); input.blur(); }
      return;
    }
    if (isTyping(event)) return;
    const deed = {
      j: () => step(1), k: () => step(-1), n: () => move(1), N: () => move(-1), o: openTurn, t: switchTheme, "?": deeds.help,
      "/": () => { input.focus(); input.select(); },
    }[event.key] ?? (buttons[event.key - 1] && (() => press(buttons[event.key - 1])));
    if (deed) { event.preventDefault(); deed(); }
  });

  addEventListener("beforeprint", () => {
    if (CSS.supports("selector(::details-content)")) return;
    for (const fold of main.querySelectorAll("details:not([open], .more, .branch)")) fold.open = true;
  });

  if (innerWidth < 1088) outline.querySelector("details").open = false;
  if (location.hash) goTo(hash());
  dispatchEvent(new Event("scroll"));
});

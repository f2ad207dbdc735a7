// Back and Forward on pages that change in place: each entry of the history keeps how far its list was opened and scrolled.
let isStarted = false;
let isRestoring = false; // while restoring, scrolling is not the reader's
let timer = 0;

const kept = () => history.state ?? {};

function keep(values) {
  history.replaceState({ ...kept(), ...values }, "");
}

function keepScroll() {
  clearTimeout(timer);
  if (!isRestoring && (kept().scroll ?? 0) !== scrollY) keep({ scroll: scrollY });
}

/** Go on under another address: as a new entry, or in the place of the present one. */
export function goTo(address, { replace = false } = {}) {
  if (replace) { history.replaceState({}, "", address); return; }
  keepScroll();
  history.pushState({}, "", address);
}

/** Remember that the list was opened further, by a link with this address. */
export function keepOpened(href) {
  if (isStarted && !isRestoring) keep({ opened: [...(kept().opened ?? []), href] });
}

/** The list was drawn anew: it is not opened any further. */
export function keepClosed() {
  if (isStarted && kept().opened) keep({ opened: undefined });
}

/** Open the list as far as it was, one link after the other with `open(href)`, and scroll to where it was. */
async function restore(open) {
  const { opened = [], scroll = 0 } = kept();
  const here = location.href;
  isRestoring = true;
  try {
    for (const href of opened) await open(href);
  } finally {
    if (location.href === here) scrollTo({ top: scroll, behavior: "instant" });
    requestAnimationFrame(() => { isRestoring = false; });
  }
}

/** Keep the positions of this page. `draw()` shows what the address asks for, `open(href)` opens the list further. */
export function start(draw, open) {
  isStarted = true;
  history.scrollRestoration = "manual";
  let shown = location.pathname + location.search;
  addEventListener("scroll", () => { clearTimeout(timer); timer = setTimeout(keepScroll, 100); }, { passive: true });
  for (const name of ["click", "submit", "pagehide"]) addEventListener(name, keepScroll, { capture: true });
  addEventListener("popstate", async () => {
    const now = location.pathname + location.search;
    if (now === shown && !history.state) return; // only a fragment
    shown = now;
    clearTimeout(timer);
    isRestoring = true;
    await draw();
    if (shown === now) await restore(open); else isRestoring = false;
  });
  if (history.state) restore(open);
  return { moved() { shown = location.pathname + location.search; } };
}

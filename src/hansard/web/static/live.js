// News from the server: one stream for the page, opened again when it breaks, closed while the page is hidden.
const listeners = new Set();
const RETRY = 2000; // milliseconds
let source = null;
let last = null;
let away = null; // the timer that looks for a server that went away

function open() {
  if (source || document.hidden || !listeners.size) return;
  source = new EventSource("/api/events");
  source.addEventListener("revision", (event) => {
    const { revision, syncing, progress, trouble } = JSON.parse(event.data);
    show(syncing, progress, trouble);
    const isNews = last !== null && revision !== last;
    last = revision;
    if (isNews) for (const listener of listeners) listener(revision);
  });
  source.addEventListener("error", lost);
}

/** Say that the server does not answer, and look until it does; one that was started anew wants a new login. */
function lost() {
  close();
  say("The server is not responding. This page shows its last state and reconnects automatically.", true);
  away = setTimeout(look, RETRY);
}

async function look() {
  try {
    const answer = await fetch("/api/revision", { cache: "no-store", redirect: "error" });
    if (answer.status === 401 || answer.status === 421) {
      say("The server was restarted. Open the link it printed, or run hansard web again.", true);
      away = setTimeout(look, RETRY);
      return;
    }
    if (!answer.ok) throw new Error(answer.statusText);
    open();
  } catch {
    away = setTimeout(look, RETRY);
  }
}

/** What base.html says when it is drawn, as it changes. */
function show(syncing, progress, trouble) {
  const read = `Reading the history${progress ? ` (${progress})` : ""}; showing what has been read so far.`;
  say(trouble ? `Not up to date: ${trouble}` : syncing ? read : "", Boolean(trouble));
}

function say(words, bad) {
  const standing = document.getElementById("standing");
  if (!standing) return;
  standing.hidden = !words;
  standing.classList.toggle("bad", bad);
  if (standing.textContent !== words) standing.textContent = words;
}

function close() {
  clearTimeout(away);
  source?.close();
  source = null;
}

document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
addEventListener("pagehide", close);
addEventListener("pageshow", open);

/** Call back whenever the store has changed since this page was drawn with `revision`. */
export function onNews(listener, revision = null) {
  if (last === null) last = revision;
  listeners.add(listener);
  open();
}

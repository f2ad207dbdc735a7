// Events from the server, while the page is visible.
import { listen } from "./event_stream.js";

const LOST = {
  gone: "The server is not responding. This page shows its last state and reconnects automatically.",
  restarted: "The server was restarted. Open the link it printed, or run hansard web again.",
};
const listeners = new Set();
const connections = new Set();
const connect = sharedStream() ?? ownStream();
let isOpen = false;
let isConnected = true;
let last = null;

/** Listen through the worker that all pages share; null where browsers have none. */
function sharedStream() {
  if (!globalThis.SharedWorker) return null;
  const worker = new SharedWorker(new URL("./shared_stream.js", import.meta.url), { type: "module" });
  worker.port.onmessage = ({ data }) => { if (isOpen) hear(data); };
  return (isVisible) => worker.port.postMessage(isVisible);
}

function ownStream() {
  let stop = null;
  return (isVisible) => {
    stop?.();
    stop = isVisible ? listen(hear) : null;
  };
}

function hear({ lost, revision, syncing, progress, trouble }) {
  if (isConnected === Boolean(lost)) {
    isConnected = !lost;
    for (const listener of connections) listener(isConnected);
  }
  if (lost) { say(LOST[lost], true); return; }
  show(syncing, progress, trouble);
  const isNews = last !== null && revision !== last;
  last = revision;
  if (isNews) for (const listener of listeners) listener(revision);
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

function open() {
  if (isOpen || document.hidden || !listeners.size) return;
  isOpen = true;
  connect(true);
}

function close() {
  if (isOpen) connect(false);
  isOpen = false;
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

/** Call back with false when the server goes away, and with true when it is back. */
export function onConnection(listener) {
  connections.add(listener);
}

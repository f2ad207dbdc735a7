// Matches of a search in this thread: highlighted words, and steps to the next match or error.
import { say } from "./app.js";
import { current, goToOffset, offsetOf } from "./session_places.js";
import { address, onWindow, session, windows } from "./session_windows.js";

const MOST = 3000; // ranges
const known = new Map(); // by query
const marks = globalThis.Highlight && CSS.highlights ? new Highlight() : null;
let query = new URLSearchParams(location.search).get("q") ?? "";
let words = [];

async function matches(text) {
  if (!known.has(text)) {
    const answer = await fetch(address("/matches", { q: text }));
    known.set(text, answer.ok ? await answer.json() : { offsets: [], words: [] });
  }
  return known.get(text);
}

/** Mark the words in what was drawn again. */
export function mark(scope) {
  if (!marks || !words.length) return;
  for (const range of marks) if (range.collapsed || scope.contains(range.startContainer)) marks.delete(range);
  const pattern = new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "giu");
  const walker = document.createTreeWalker(scope, NodeFilter.SHOW_TEXT);
  while (walker.nextNode() && marks.size < MOST) {
    for (const found of walker.currentNode.data.matchAll(pattern)) {
      if (marks.size >= MOST) break;
      const range = new Range();
      range.setStart(walker.currentNode, found.index);
      range.setEnd(walker.currentNode, found.index + found[0].length);
      marks.add(range);
    }
  }
  session.dataset.marked = String(marks.size);
}

/** Mark what a query finds; nothing where it is empty. */
export async function highlight(text) {
  query = text;
  marks?.clear();
  const found = text ? (await matches(text)).words.filter(Boolean) : [];
  if (query !== text) return; // another was asked for meanwhile
  words = found;
  mark(windows);
}

async function step(text, by, name) {
  const { offsets } = await matches(text);
  const here = offsetOf(current());
  const at = Number.isNaN(here) ? (by > 0 ? 0 : offsets.length - 1)
    : by > 0 ? offsets.findIndex((offset) => offset > here) : offsets.findLastIndex((offset) => offset < here);
  if (offsets[at] === undefined) { say(offsets.length ? `No more ${name}` : `No ${name} in this thread`); return; }
  await goToOffset(offsets[at]);
  say(`${at + 1} of ${offsets.length}`);
}

export const stepHit = (by) => (query ? step(query, by, "matches") : say("Search this session first (/)"));
export const stepError = (by) => step("is:error", by, "errors");
export const forget = () => known.clear();

export function start() {
  if (marks) CSS.highlights.set("found", marks);
  onWindow(mark);
  if (query) highlight(query);
}

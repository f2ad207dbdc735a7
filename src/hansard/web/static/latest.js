// Debounced requests: only the latest is sent, once typing pauses, and answers to earlier ones are dropped.

/** Milliseconds that the typing must rest: with a server on this machine, results settle within 200 of the last key. */
export const REST = 80;

/** `look(question, signal)` fetches an answer, `draw(answer, question)` shows it, `failed(error)` says why there is none. */
export function latest(look, draw, failed = () => {}) {
  let timer = 0;
  let running = null;

  function stop() {
    clearTimeout(timer);
    running?.abort();
    running = null;
  }

  async function now(question) {
    stop();
    const mine = new AbortController();
    running = mine;
    try {
      const answer = await look(question, mine.signal);
      if (!mine.signal.aborted) draw(answer, question);
    } catch (error) {
      if (!mine.signal.aborted) failed(error);
    }
  }

  function soon(question, wait = REST) {
    stop();
    timer = setTimeout(() => now(question), wait);
  }

  return { now, soon, stop };
}

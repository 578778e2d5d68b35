// What the page asks of the sandbox: JSON there and back, and one stream of events.

/** Where the sandbox answers for the bot of this page. */
const app = new URL("../app/", import.meta.url);

/** Where a file that somebody sent is read. */
export const fileURL = (id) => new URL(`file/${encodeURIComponent(id)}`, app).href;

/** Posts to app/<path>; throws an Error with a sentence for the person. */
export async function post(path, body) {
  let answer;
  try {
    answer = await fetch(new URL(path, app), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
  } catch {
    throw new Error("The sandbox does not answer. Is purser still running?");
  }
  const data = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(data.error ?? `The sandbox refused (${answer.status}).`);
  return data;
}

export async function loadMails() {
  const answer = await fetch(new URL("mails", app)).catch(() => null);
  return answer?.ok ? (await answer.json()).mails : null; // null: what is shown stays; the next mail asks again
}

export async function loadMarket() {
  const answer = await fetch(new URL("prices", app)).catch(() => null);
  return answer?.ok ? answer.json() : null; // null: what is shown stays
}

export async function loadState() {
  const answer = await fetch(new URL("state", app));
  if (!answer.ok) throw new Error(`The sandbox refused (${answer.status}).`);
  return answer.json();
}

/**
 * Listens to events after the given state. on.event(e) for each; on.status(connected) as the
 * connection comes and goes; on.reset() when the state must be loaded anew. Returns a stop function.
 */
export function listen({ epoch, seq }, on) {
  const source = new EventSource(new URL(`events?after=${encodeURIComponent(`${epoch}.${seq}`)}`, app));
  const stop = () => source.close();
  source.addEventListener("open", () => on.status(true));
  source.addEventListener("message", (m) => on.event(JSON.parse(m.data)));
  source.addEventListener("reset", () => {
    stop();
    on.reset();
  });
  source.addEventListener("error", () => {
    on.status(false);
    if (source.readyState === EventSource.CLOSED) on.reset(); // browsers give up after some errors
  });
  return stop;
}

// Asks the server that this page came from: JSON in. Part of boot.js too, which asks for what a link is about while the page's script is loading.

const PATIENCE = 20_000; // milliseconds

/** What a link asks the server first, by its kind: a path, and the name under which it sends the link's secret. Neither uses the link up. */
const FIRST = { bind: ['/w/bind/challenge', 'token'], sign: ['/w/tx/get', 'id'] };

/** Posts a body of JSON; resolves to the Response. */
export const ask = (path, body) => fetch(path, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
  credentials: 'omit',
  cache: 'no-store',
  redirect: 'error',
  referrerPolicy: 'no-referrer',
  signal: AbortSignal.timeout(PATIENCE),
});

/** Asks what a link of this kind asks first, so that the answer comes with the script and not a round trip after it. */
export function askAhead(kind, secret) {
  if (!Object.hasOwn(FIRST, kind)) return;
  const [path, name] = FIRST[kind];
  const body = { [name]: secret };
  const response = ask(path, body);
  response.catch(() => {}); // who takes the response sees the error
  globalThis.firstAnswer = { question: path + JSON.stringify(body), response };
}

/** The response that was asked for ahead, once, if it is the one to this question; else undefined. */
export function takeFirst(path, body) {
  const first = globalThis.firstAnswer;
  delete globalThis.firstAnswer;
  return first?.question === path + JSON.stringify(body) ? first.response : undefined;
}

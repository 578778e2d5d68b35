// What is said: states, times, troubles. Pure, so that it is tested without a browser.

/**
 * Text that somebody else wrote, with everything that could make it look like something else made
 * visible: controls, writing directions, what takes no room, towers of accents; and not too much of it.
 */
export function inert(text, most = 4096) {
  const whole = String(text).replace(/\r\n?/g, '\n');
  const shown = cut(whole, most)
    .replace(/[^\P{C}\n\t]|[\u2028\u2029\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f]|[\u{e0000}-\u{e0fff}]/gu, (c) => `⟦U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}⟧`)
    .replace(/(\p{M}{3})\p{M}+/gu, '$1⟦…⟧');
  const rest = whole.length - Math.min(whole.length, cut(whole, most).length);
  return rest > 0 ? `${shown}\n⟦… and ${count(rest, 'character')} more⟧` : shown;
}

/** The first characters, without halving one. */
function cut(text, most) {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? most - 1 : most);
}

/** JSON in lines. It is only laid out: numbers and the order of fields stay as they came. */
export function pretty(text) {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  let depth = 0;
  let out = '';
  const line = () => `\n${'  '.repeat(Math.min(depth, 32))}`;
  const tokens = text.match(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [];
  tokens.forEach((token, i) => {
    const empty = (tokens[i] === '{' && tokens[i + 1] === '}') || (tokens[i] === '[' && tokens[i + 1] === ']');
    const closesEmpty = i > 0 && ((tokens[i - 1] === '{' && token === '}') || (tokens[i - 1] === '[' && token === ']'));
    if (token === '{' || token === '[') {
      depth++;
      out += empty ? token : token + line();
    } else if (token === '}' || token === ']') {
      depth--;
      out += closesEmpty ? token : line() + token;
    } else if (token === ',') {
      out += token + line();
    } else {
      out += token === ':' ? ': ' : token;
    }
  });
  return out;
}

export const count = (n, one, many = `${one}s`) => `${n.toLocaleString('en')} ${n === 1 ? one : many}`;

/** A sentence of its own: "this link was used" becomes "This link was used." */
export function sentence(text) {
  const trimmed = text.trim();
  if (trimmed === '') return '';
  const begun = trimmed[0].toUpperCase() + trimmed.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

/** When something was, for somebody who looks at `now`: the time of today, else with its day. */
export const moment = (iso, now = new Date(), zone = undefined) => clock(iso, now, zone, {});

/** The same to the second. */
export const instant = (iso, now = new Date(), zone = undefined) => clock(iso, now, zone, { second: '2-digit' });

/** Whose clock it is. */
export const zoneName = () => new Intl.DateTimeFormat('en-GB').resolvedOptions().timeZone;

function clock(iso, now, zone, more) {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return '';
  const day = (d) => d.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: zone });
  const time = at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', ...more, timeZone: zone });
  return day(at) === day(now) && Math.abs(at - now) < 86_400_000 ? time : `${day(at)}, ${time}`;
}

/** An address without its query, which may hold a secret and is shown where it is changed. */
export function addressOf(url) {
  try {
    const { host, pathname, search } = new URL(url);
    return inert(`${host}${pathname === '/' ? '' : pathname}${search === '' ? '' : '?…'}`, 160);
  } catch {
    return inert(url, 100);
  }
}

/**
 * How long a view waits before it looks again by itself, in milliseconds, when nothing has changed for so many looks.
 * A quick one is expected to change soon. An hour of looks leaves most of a session's requests to the person.
 */
export function pauseOf(quiet, quick = false) {
  if (quick && quiet < 20) return 3_000;
  return quiet < 30 ? 10_000 : 60_000;
}

/** Which events can be subscribed to and are not emitted yet. */
export const later = (events) => new Set(events.filter((one) => one.emitted === false).map((one) => one.event));

/** How a webhook fares: {kind: good | bad | off | new, text}. */
export function healthOf(hook, now = new Date(), zone = undefined) {
  if (hook.ended === 'gone') return { kind: 'off', text: 'turned off: its receiver answered 410' };
  if (hook.ended === 'failing') return { kind: 'off', text: 'turned off: it took no event for days' };
  if (hook.ended === 'tier') return { kind: 'off', text: 'stopped: its key is on the free tier' };
  if (!hook.active) return { kind: 'off', text: 'paused' };
  if (hook.failing_since !== '') return { kind: 'bad', text: `failing since ${moment(hook.failing_since, now, zone)}` };
  if (hook.last_triggered === '') return { kind: 'new', text: 'nothing was sent yet' };
  const success = hook.health?.last_success ?? '';
  if (success === '') return { kind: 'new', text: 'no delivery yet, tests aside' };
  if (Date.parse(success) < Date.parse(hook.updated_at)) return { kind: 'new', text: 'no delivery yet since it was last changed, tests aside' };
  return { kind: 'good', text: 'healthy' };
}

/** What the states of a delivery are called, and what they mean. */
export const STATES = {
  waiting: { kind: 'new', text: 'waits', means: 'It waits for its next attempt.' },
  delivered: { kind: 'good', text: 'delivered', means: 'The receiver took it.' },
  dead_lettered: { kind: 'bad', text: 'given up', means: 'All attempts failed. It is kept for a while, and can be sent again.' },
  revoked: { kind: 'off', text: 'revoked', means: 'What allowed it was taken back: a consent, the key, or the webhook itself.' },
  superseded: { kind: 'off', text: 'replaced', means: 'A newer one about the same took its place before it was sent.' },
};

export const stateOf = (state) => STATES[state] ?? { kind: 'off', text: inert(state, 40), means: '' };

/** What the state of a delivery means for it, whose attempts are known. */
export function meaningOf({ state, attempted }) {
  const { status = 0 } = attempted.at(-1) ?? {};
  const final = status > 0 && status < 500 && ![408, 425, 429].includes(status); // others are attempted again
  if (state === 'dead_lettered' && final) return `Given up at once: answered ${status}, and the same bytes would be answered alike. It is kept for a while, and can be sent again.`;
  return stateOf(state).means;
}

/** What an attempt came to. */
export function resultOf({ status, error, latency_ms: latency }) {
  const took = ` after ${latency < 1 ? 'less than 1' : latency.toLocaleString('en')} ms`;
  if (status > 0) return `answered ${status}${took}`;
  return `${error === '' ? 'no answer' : inert(error, 300)}${took}`;
}

/** What there is to say of an attempt beside its result: nothing that this says already. */
export const remark = ({ status, error }) => (status > 0 && error !== `answered ${status}` ? inert(error, 300) : '');

/** What went wrong with a request, and what to do. */
export function trouble(err) {
  const details = sentence(inert(err.details ?? '', 600).replace(/^url: must /, 'the address must ').replace(/^[a-z_]+: /, ''));
  switch (err.code) {
    case 'UNREACHABLE':
      return 'purser could not be reached. Look at your connection and try again: nothing is done twice.';
    case 'RATE_LIMIT_EXCEEDED':
      return `${details || 'Too many requests.'} Wait ${count(err.retryAfter || 60, 'second')}, then go on.`;
    case 'TIER_REQUIRED':
      return 'Webhooks are part of the tier pro, which this key does not have any more. Ask the operator.';
    case 'INSUFFICIENT_SCOPE':
      return 'This key may have no webhooks: make one with the scope “webhooks”, from /api in the chat.';
    case 'WEBHOOK_NOT_FOUND':
      return 'This webhook is not there any more: somebody has removed it. Go back to the list.';
    case 'NOT_FOUND':
      return 'This is not there any more. Deliveries are kept for a while only.';
    case 'WEBHOOK_LIMIT_REACHED':
      return `${details || 'There are as many webhooks as there may be.'} Then add this one.`;
    case 'CONFLICT':
      return `${details || 'This changed meanwhile.'} Refresh, and look at it again.`;
    case 'INTERNAL_ERROR':
    case 'NETWORK_ERROR':
      return 'Something is wrong on purser’s side. Try again in a minute; if it stays so, tell the operator.';
    default:
      return details || sentence(inert(err.message ?? '', 300)) || 'That did not work.';
  }
}

/** What a webhook can ask for, by family: {family, all, names}, of events of its kind. */
export function families(events, kind) {
  const found = new Map();
  for (const { event, kind: of } of events) {
    if (of !== kind || event === 'webhook.test') continue;
    const [family] = event.split('.');
    if (!found.has(family)) found.set(family, { family, all: `${family}.*`, names: [] });
    found.get(family).names.push(event);
  }
  return [...found.values()];
}

/** The shortest list that asks for the same: what a wildcard in it holds is left out. */
export function subscription(chosen) {
  const all = new Set(chosen);
  if (all.has('*')) return ['*'];
  return [...all].filter((name) => name.endsWith('.*') || !all.has(`${name.split('.')[0]}.*`)).sort();
}

/** The last 24 hours, each with its numbers; those in which nothing happened too. Oldest first. */
export function lastDay(hours, now = new Date()) {
  const known = new Map(hours.map((one) => [Math.floor(Date.parse(one.hour) / 3_600_000), one]));
  const last = Math.floor(now.getTime() / 3_600_000);
  return Array.from({ length: 24 }, (_, i) => {
    const hour = last - 23 + i;
    const { succeeded = 0, failed = 0, dead_lettered = 0 } = known.get(hour) ?? {};
    return { hour: new Date(hour * 3_600_000).toISOString(), succeeded, failed, dead_lettered };
  });
}

// Texts for states, times, errors and what strangers wrote. Pure, so that it is tested without a browser.

import { LocalizedError, date, t } from './catalogue.js';

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
  return rest > 0 ? `${shown}\n${t('common.characters_more', { count: rest })}` : shown;
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

/** The time zone in which times are shown. */
export const zoneName = () => new Intl.DateTimeFormat().resolvedOptions().timeZone;

function clock(iso, now, zone, more) {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return '';
  const day = (d) => date(d, { day: 'numeric', month: 'short', timeZone: zone });
  const time = date(at, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', ...more, timeZone: zone });
  return day(at) === day(now) && Math.abs(at - now) < 86_400_000 ? time : t('common.day_time', { day: day(at), time });
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

/** The health of a webhook: {kind: good | bad | off | new, text}. */
export function healthOf(hook, now = new Date(), zone = undefined) {
  const health = (kind, key, args) => ({ kind, text: t(`health.${key}`, args) });
  if (['gone', 'failing', 'backlog', 'tier'].includes(hook.ended)) return health('off', hook.ended);
  if (!hook.active) return health('off', 'paused');
  if (hook.failing_since !== '') return health('bad', 'failing_since', { time: moment(hook.failing_since, now, zone) });
  if (hook.last_triggered === '') return health('new', 'new');
  const success = hook.health?.last_success ?? '';
  if (success === '') return health('new', 'untested');
  if (Date.parse(success) < Date.parse(hook.updated_at)) return health('new', 'changed');
  return health('good', 'good');
}

/** The states of a delivery, and how each looks. */
export const STATES = { waiting: 'new', delivered: 'good', dead_lettered: 'bad', revoked: 'off', superseded: 'off' };

/** A delivery's state as a badge: {kind, text}. A state that this page does not know is shown as foreign text. */
export const stateOf = (state) => (Object.hasOwn(STATES, state) ? { kind: STATES[state], text: t(`state.${state}`) } : { kind: 'off', text: inert(state, 40), foreign: true });

/** What the state means for a delivery whose attempts are known; "" for a state that this page does not know. */
export function meaningOf({ state, attempted }) {
  const { status = 0 } = attempted.at(-1) ?? {};
  const final = status > 0 && status < 500 && ![408, 425, 429].includes(status); // others are attempted again
  if (state === 'dead_lettered' && final) return t('state.dead_lettered_final', { status: `${status}` });
  return Object.hasOwn(STATES, state) ? t(`state.${state}_means`) : '';
}

/** The result of an attempt. */
export function resultOf({ status, error, latency_ms: milliseconds }) {
  const latency = milliseconds < 1 ? t('delivery.latency_least') : t('delivery.latency', { milliseconds });
  if (status > 0) return t('delivery.answered', { status: `${status}`, latency });
  return error === '' ? t('delivery.not_answered', { latency }) : t('delivery.failed', { error: inert(error, 300), latency });
}

/** What an attempt's error says beyond its result; "" for nothing. */
export const remark = ({ status, error }) => (status > 0 && error !== `answered ${status}` ? inert(error, 300) : '');

/** What a person entered cannot be used. */
export class Problem extends LocalizedError {}

/** What went wrong, and what to do: a text for any error. */
export function errorText(err) {
  if (err instanceof LocalizedError) return err.message;
  const details = sentence(inert(err.details ?? '', 600).replace(/^[a-z_]+: /, '')); // without the name of the field
  switch (err.code) {
    case 'UNREACHABLE':
      return t('error.unreachable');
    case 'RATE_LIMIT_EXCEEDED':
      return t('error.wait', { details: details || t('error.too_many'), count: err.retryAfter || 60 });
    case 'TIER_REQUIRED':
      return t('error.tier');
    case 'INSUFFICIENT_SCOPE':
      return t('error.scope');
    case 'WEBHOOK_NOT_FOUND':
      return t('error.webhook_gone');
    case 'NOT_FOUND':
      return t('error.gone');
    case 'WEBHOOK_LIMIT_REACHED':
      return details ? t('error.limit', { details }) : t('error.limit_reached');
    case 'CONFLICT':
      return t('error.conflict', { details: details || t('error.changed') });
    case 'INTERNAL_ERROR':
    case 'NETWORK_ERROR':
      return t('error.server');
    default:
      return details || sentence(inert(err.message ?? '', 300)) || t('error.unknown');
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

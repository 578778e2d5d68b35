// Foreign text made safe to show, and amounts, addresses and times written for people. Pure; the page's
// elements are made elsewhere, always as text and never as markup.

import { date, t } from './catalogue.js';

/**
 * Text from outside with every character that could hide or reorder its surroundings replaced by
 * U+FFFD: controls, bidi marks, invisible characters. At most `longest` characters; "" for what is
 * no string.
 */
export function plain(text, longest = 200) {
  if (typeof text !== 'string') return '';
  const safe = text.replace(
    /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]|[\ud800-\udfff]/gu,
    '\ufffd',
  );
  const characters = [...safe];
  return characters.length > longest ? `${characters.slice(0, longest).join('')}…` : safe;
}

/** An exact decimal of base units (BigInt or decimal string): 1500000 with 6 decimals is "1.5". */
export function amount(units, decimals) {
  const digits = BigInt(units).toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  return `${whole}${fraction && `.${fraction}`}`;
}

/** Exact SOL of lamports: "1.5", "0.000005", "18446744073.709551615". */
export const sol = (lamports) => amount(lamports, 9);

/** The last six characters of an address: what people compare. */
export const lastSix = (address) => address.slice(-6);

/** An address cut into groups of four, as the chat and `purser sign` write it; the last group has what is left. */
export const groups = (address) => address.match(/.{1,4}/g);

/** RFC 3339 in UTC, as the server writes times; null for anything else. */
export function utcTime(text) {
  if (typeof text !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(text)) return null;
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? null : at;
}

/**
 * A time of day: "10:02 UTC+1", in 24 hours as the chat writes it. It is in the zone of the device, and says how far that is from UTC, which
 * the chat writes. Not by Intl: the names of its zones take a slow phone 100 ms to load, while somebody waits for the page.
 */
export function clock(at) {
  const time = new Date(at);
  const two = (n) => String(n).padStart(2, '0');
  const east = -time.getTimezoneOffset(); // minutes
  const [hours, minutes] = [Math.floor(Math.abs(east) / 60), Math.abs(east) % 60];
  const zone = east === 0 ? '' : `${east < 0 ? '\u2212' : '+'}${hours}${minutes === 0 ? '' : `:${two(minutes)}`}`;
  return `${two(time.getHours())}:${two(time.getMinutes())} UTC${zone}`;
}

/** A day: "21 Nov 2026". */
export const dayOf = (at) => date(new Date(at), { dateStyle: 'medium' });

/** A moment in a sentence: "today at 10:02", "on 21 Nov 2026 at 10:02". */
export function day(at, now = Date.now()) {
  const today = new Date(at).toDateString() === new Date(now).toDateString();
  return today ? t('common.today', { time: clock(at) }) : t('common.on_day', { date: dayOf(at), time: clock(at) });
}

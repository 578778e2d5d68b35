// What becomes of a payment: its end, or how it gets on until then. Knows the screens; the server says which.

import { h, mark } from './dom.js';
import { check } from './offer.js';
import { rows } from './parts.js';
import * as server from './server.js';
import { plain } from './text.js';

/** What became of a transaction that waits for no signature: title and sentence. */
const STATUS = {
  awaiting_confirmation: ['Not confirmed yet', 'Confirm it in the chat first, then open the link that stands there.'],
  delayed: ['Held back for now', 'Your own rules delay this payment. The chat says until when.'],
  signed: ['Already signed', 'It is on its way to Solana.'],
  pending: ['On its way', 'Solana has it. It is usually confirmed within seconds.'],
  confirmed: ['Confirmed', 'Solana has confirmed this payment.'],
  failed: ['It failed', 'This payment failed. The chat says more.'],
  rejected: ['Rejected', 'This payment was turned down. Nothing was sent.'],
  expired: ['Expired', 'The time to sign is over. Nothing was sent. Start again in the chat.'],
};

/** Why a payment failed, by the server's code. */
const FAILURES = {
  INSUFFICIENT_BALANCE: 'There was not enough in the wallet. Nothing was paid.',
  BLOCKHASH_EXPIRED: 'It did not reach Solana in time. Nothing was paid.',
  SIMULATION_FAILED: 'Solana refused it before it was sent. Nothing was paid.',
  CHAIN_ERROR: 'Solana refused it. Only the network fee may have been charged.',
};

/** Ends with what became of a transaction that waits for no signature; follows one that is on its way. */
export function showStatus(ui, id, told) {
  const [title, text] = Object.hasOwn(STATUS, told.status) ? STATUS[told.status] : ['Nothing to sign', `The server calls it “${plain(told.status, 40)}”.`];
  if (told.status === 'signed' || told.status === 'pending') return followUp(ui, id, title, told);
  const why = told.status === 'failed' && Object.hasOwn(FAILURES, told.code ?? '') ? FAILURES[told.code] : text;
  return ui.end(title,
    told.status === 'confirmed' && mark('ok'),
    told.status === 'failed' && mark('stop'),
    h('p', { class: 'lead' }, why),
    told.signature && signatureRow(told.signature),
    wayBack(told.bot));
}

const signatureRow = (signature) => rows(['Transaction signature', h('small', { class: 'wrap', translate: 'no' }, signature)]);

/** The way back to the chat. The link carries nothing but the bot's name. */
const wayBack = (bot) => [
  bot && h('div', { class: 'actions' }, h('a', { class: 'button', href: `https://t.me/${bot}`, rel: 'noreferrer' }, 'Back to chat')),
  h('p', { class: 'hint' }, bot ? 'You can close this page.' : 'Go back to the chat. You can close this page.'),
].filter(Boolean);

const LOOK_EVERY = 2_500; // milliseconds; the server takes 60 requests a minute
const LOOK_SLOWLY_EVERY = 15_000; // milliseconds, after LOOKS_OFTEN looks
const LOOKS_OFTEN = 60;
const LOOKS = 120; // some 18 minutes; the chat tells what comes later

/** Shows how a signed payment gets on until it ends. */
export async function followUp(ui, id, title, { status, signature, bot }) {
  const reached = (s) => ({ pending: 2, confirmed: 3 })[s] ?? 1;
  const steps = ['Signed', 'Sent to Solana', 'Confirmed'].map((name) => h('li', null, name));
  const note = h('p', { class: 'hint' }, 'This page shows when it is confirmed. So does the chat.');
  const show = (s) => steps.forEach((step, i) => {
    step.className = i < reached(s) ? 'done' : i === reached(s) ? 'now' : '';
    if (i === reached(s)) step.setAttribute('aria-current', 'step'); else step.removeAttribute('aria-current');
  });
  show(status);
  const left = ui.end(title,
    mark('ok'),
    h('p', { class: 'lead' }, 'Your signature was handed over.'),
    h('ol', { class: 'steps' }, steps), note,
    signature && signatureRow(signature), wayBack(bot));
  for (let look = 0; look < LOOKS; look++) {
    await Promise.race([left, new Promise((resolve) => { setTimeout(resolve, look < LOOKS_OFTEN ? LOOK_EVERY : LOOK_SLOWLY_EVERY); })]);
    let now;
    try {
      now = check(await server.getTransaction(id));
    } catch {
      continue; // the next look may be answered
    }
    if (now.message !== null || now.status === status && !now.held) continue;
    if (now.status !== 'signed' && now.status !== 'pending') {
      return Promise.race([left, showStatus(ui, id, { ...now, signature: now.signature || signature, bot: now.bot || bot })]);
    }
    status = now.status;
    show(status);
    const text = now.held ? 'It takes longer than usual. Nobody can tell yet whether Solana took it. The chat shows more. Do not pay again.' : STATUS[status][1];
    if (note.textContent === text) continue;
    note.textContent = text;
    ui.say(text);
  }
  return left;
}

// Deliveries: the list with its filter, and one with all its attempts. What receivers answer, and what
// people wrote into events, is shown as text that does nothing.

import { button, deed, field, h, renew, select } from './dom.js';
import { badge } from './hooks.js';
import { STATES, count, inert, instant, meaningOf, pretty, remark, resultOf, stateOf, trouble } from './words.js';

const PAGE = 20;
const TAIL = 12; // of an event's id: tells rows apart, also where it ends in a count
const time = (iso) => h('time', { datetime: iso, title: iso }, instant(iso));
const path = (hook, delivery) => `#/w/${encodeURIComponent(hook.webhook_id)}/d/${encodeURIComponent(delivery.delivery_id)}`;

/** The deliveries of a webhook, newest first, filtered and by pages: {node, renew}. */
export async function deliveryList(app, hook, events) {
  const names = events.filter((one) => one.kind === app.api.kind || one.event === 'webhook.test').map((one) => one.event);
  const state = select({ '': 'any', ...Object.fromEntries(Object.entries(STATES).map(([name, { text }]) => [name, text])) }, '');
  const event = select({ '': 'any', ...Object.fromEntries(names.map((name) => [name, name])) }, '');
  const since = h('input', { type: 'datetime-local' });
  const list = h('ol', { class: 'deliveries' });
  const more = h('div', { class: 'row' });
  const said = h('p', { class: 'soft', role: 'status' });
  let turn = 0;
  let first = ''; // the page that stands there, while it is the only one

  const load = async (cursor, quietly = false) => {
    const mine = ++turn;
    const query = new URLSearchParams({ limit: String(PAGE) });
    if (state.value !== '') query.set('state', state.value);
    if (event.value !== '') query.set('event', event.value);
    if (since.value !== '') query.set('since', new Date(since.value).toISOString());
    if (cursor !== '') query.set('cursor', cursor);
    let page;
    try {
      page = await app.api.get(`${app.api.hook(hook.webhook_id)}/deliveries?${query}`);
    } catch (err) {
      if (mine === turn && !quietly) said.textContent = trouble(err);
      return;
    }
    const whole = cursor === '' ? JSON.stringify(page) : '';
    if (mine !== turn || quietly && whole === first) return; // another filter was chosen meanwhile, or nothing is new
    first = whole;
    const rows = page.deliveries.map((one) => row(hook, one));
    if (cursor === '') renew(list, rows);
    else list.append(...rows);
    const shown = list.children.length;
    said.textContent = shown === 0 ? 'No delivery fits.' : `${count(shown, 'delivery', 'deliveries')} shown${page.next_cursor === '' ? '.' : ', newest first.'}`;
    more.replaceChildren(...(page.next_cursor === '' ? [] : [button('Older ones', () => load(page.next_cursor))]));
  };
  await load('');
  const node = h('div', null,
    h('div', { class: 'filter', role: 'group', 'aria-label': 'Which deliveries', on: { change: () => load('') } }, field('State', state), field('Event', event), field('Since', since)),
    said, list, more);
  // Older pages that somebody has opened stay as they are.
  return { node, renew: async () => { if (first !== '') await load('', true); } };
}

function row(hook, one) {
  return h('li', null, h('a', { href: path(hook, one) }, h('span', { class: 'event' }, one.event)),
    h('code', { class: 'soft', title: inert(one.event_id, 200) }, `…${inert(one.event_id.slice(-TAIL))}`),
    badge(stateOf(one.state)), one.resend && h('span', { class: 'soft' }, 'sent again by hand'),
    h('span', { class: 'soft' }, time(one.created_at), `, ${count(one.attempts, 'attempt')}`,
      one.last_error !== '' && `: ${inert(one.last_error, 160)}`));
}

/** One delivery: what was sent, and what came of each attempt. */
export async function deliveryView(app, hookID, id) {
  const hook = { webhook_id: hookID };
  const address = `${app.api.hook(hookID)}/deliveries/${encodeURIComponent(id)}`;
  const one = await app.api.get(address);
  const known = stateOf(one.state);
  return {
    title: one.event,
    // What waits is looked at again soon, until it has ended.
    quick: one.state === 'waiting',
    live: one.state !== 'waiting' ? null : async () => {
      if (JSON.stringify(await app.api.get(address)) === JSON.stringify(one)) return false;
      await app.renew();
      return true;
    },
    nodes: [
      h('p', { class: 'back' }, h('a', { href: `#/w/${encodeURIComponent(hookID)}` }, '← The webhook')),
      h('div', { class: 'head' }, h('h2', { tabindex: '-1' }, one.event), app.refresher()),
      h('p', null, badge(known), h('span', { class: 'soft' }, ` ${meaningOf(one)}`)),
      h('dl', { class: 'pairs' },
        h('dt', null, 'Created'), h('dd', null, time(one.created_at)),
        one.next_at !== '' && [h('dt', null, 'Next attempt'), h('dd', null, time(one.next_at))],
        one.ended_at !== '' && [h('dt', null, 'Ended'), h('dd', null, time(one.ended_at))],
        h('dt', null, 'Event'), h('dd', null, h('code', null, one.event_id)),
        h('dt', null, 'Delivery'), h('dd', null, h('code', null, one.delivery_id)),
        one.resend && [h('dt', null, 'Why'), h('dd', null, 'sent again by hand')]),
      one.state !== 'waiting' && h('section', { 'aria-labelledby': 'resend' }, h('h3', { id: 'resend' }, 'Send it again'),
        h('p', { class: 'soft' }, 'The same event with the same body: your receiver knows it by its webhook-id.'),
        deed('Send it again', async (say) => {
          const again = await app.api.post(`${address}/resend`);
          say('good', 'It is on its way. ', h('a', { href: path(hook, again) }, 'Look at it'));
        }, trouble)),
      h('section', { 'aria-labelledby': 'attempts' }, h('h3', { id: 'attempts' }, 'Attempts'), attempts(one.attempted)),
      h('section', { 'aria-labelledby': 'body' }, h('h3', { id: 'body' }, 'What is sent'),
        one.body_shown ? h('pre', { tabindex: '0', 'aria-labelledby': 'body', dir: 'ltr' }, inert(pretty(one.body), 100_000))
          : h('p', null, 'It is not shown: it is about somebody who does not allow that any more, or it is not kept any longer.')),
    ],
  };
}

/** What came of each attempt. */
export function attempts(all) {
  if (all.length === 0) return h('p', null, 'None yet.');
  return h('ol', { class: 'attempts' }, all.map((one) => h('li', null,
    h('p', null, time(one.at), ' – ', h('strong', null, resultOf(one)), remark(one) !== '' && h('span', { class: 'soft' }, ` (${remark(one)})`)),
    one.answer === '' ? h('p', { class: 'soft' }, 'Without words.')
      : h('figure', null, h('figcaption', { class: 'soft' }, 'The receiver’s own words, the beginning of them:'), h('pre', { tabindex: '0', dir: 'ltr', class: 'answer', 'aria-label': 'The answer' }, inert(one.answer))))));
}

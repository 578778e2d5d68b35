// Deliveries: the list with its filter, and one with all its attempts. What endpoints answer, and what
// people wrote into events, is shown as text that does nothing.

import { rich, t } from './catalogue.js';
import { action, button, field, h, renew, select } from './dom.js';
import { badge } from './parts.js';
import { STATES, errorText, inert, instant, meaningOf, pretty, remark, resultOf, stateOf } from './texts.js';

const PAGE = 20;
const TAIL = 12; // characters of an event's id that tell rows apart, also where it ends in a count
const time = (iso) => h('time', { datetime: iso, title: iso }, instant(iso));
const path = (hook, delivery) => `#/w/${encodeURIComponent(hook.webhook_id)}/d/${encodeURIComponent(delivery.delivery_id)}`;

/** The deliveries of a webhook, newest first, filtered and by pages: {node, renew}. */
export async function deliveryList(app, hook, events) {
  const names = events.filter((one) => one.kind === app.api.kind || one.event === 'webhook.test').map((one) => one.event);
  const state = select({ '': t('delivery.any'), ...Object.fromEntries(Object.keys(STATES).map((name) => [name, stateOf(name).text])) }, '');
  const event = select({ '': t('delivery.any'), ...Object.fromEntries(names.map((name) => [name, name])) }, '');
  const since = h('input', { type: 'datetime-local' });
  const list = h('ol', { class: 'deliveries' });
  const more = h('div', { class: 'row' });
  const summary = h('p', { class: 'soft', role: 'status' });
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
      if (mine === turn && !quietly) summary.textContent = errorText(err);
      return;
    }
    const whole = cursor === '' ? JSON.stringify(page) : '';
    if (mine !== turn || quietly && whole === first) return; // another filter was chosen meanwhile, or nothing is new
    first = whole;
    const rows = page.deliveries.map((one) => row(hook, one));
    if (cursor === '') renew(list, rows);
    else list.append(...rows);
    const shown = list.children.length;
    summary.textContent = shown === 0 ? t('delivery.none') : t(page.next_cursor === '' ? 'delivery.shown' : 'delivery.shown_newest', { count: shown });
    more.replaceChildren(...(page.next_cursor === '' ? [] : [button(t('delivery.older'), () => load(page.next_cursor))]));
  };
  await load('');
  const node = h('div', null,
    h('div', { class: 'filter', role: 'group', 'aria-label': t('delivery.filter'), on: { change: () => load('') } }, field(t('delivery.state'), state), field(t('delivery.event'), event), field(t('delivery.since'), since)),
    summary, list, more);
  // Older pages that somebody has opened stay as they are.
  return { node, renew: async () => { if (first !== '') await load('', true); } };
}

function row(hook, one) {
  return h('li', null, h('a', { href: path(hook, one) }, h('span', { class: 'event', translate: 'no' }, one.event)),
    h('code', { class: 'soft', translate: 'no', title: inert(one.event_id, 200) }, `…${inert(one.event_id.slice(-TAIL))}`),
    badge(stateOf(one.state)), one.resend && h('span', { class: 'soft' }, t('delivery.manual')),
    h('span', { class: 'soft' }, time(one.created_at), rich(one.last_error === '' ? 'delivery.tries' : 'delivery.tries_error',
      { attempts: t('hook.attempts', { count: one.attempts }), error: h('bdi', { translate: 'no' }, inert(one.last_error, 160)) })));
}

/** One delivery: what was sent, and the result of each attempt. */
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
      h('p', { class: 'back' }, h('a', { href: `#/w/${encodeURIComponent(hookID)}` }, t('delivery.back'))),
      h('div', { class: 'head' }, h('h2', { tabindex: '-1', translate: 'no' }, one.event), app.refresher()),
      h('p', null, badge(known), h('span', { class: 'soft' }, ` ${meaningOf(one)}`)),
      h('dl', { class: 'pairs' },
        h('dt', null, t('delivery.created')), h('dd', null, time(one.created_at)),
        one.next_at !== '' && [h('dt', null, t('delivery.next_attempt')), h('dd', null, time(one.next_at))],
        one.ended_at !== '' && [h('dt', null, t('delivery.ended')), h('dd', null, time(one.ended_at))],
        h('dt', null, t('delivery.event_id')), h('dd', null, h('code', { translate: 'no' }, one.event_id)),
        h('dt', null, t('delivery.id')), h('dd', null, h('code', { translate: 'no' }, one.delivery_id)),
        one.resend && [h('dt', null, t('delivery.reason')), h('dd', null, t('delivery.manual'))]),
      one.state !== 'waiting' && h('section', { 'aria-labelledby': 'resend' }, h('h3', { id: 'resend' }, t('delivery.resend')),
        h('p', { class: 'soft' }, t('delivery.resend_about')),
        action(t('delivery.resend'), async (show) => {
          const again = await app.api.post(`${address}/resend`);
          show('good', t('delivery.resent'), ' ', h('a', { href: path(hook, again) }, t('hook.show_delivery')));
        }, errorText)),
      h('section', { 'aria-labelledby': 'attempts' }, h('h3', { id: 'attempts' }, t('delivery.attempts')), attempts(one.attempted)),
      h('section', { 'aria-labelledby': 'body' }, h('h3', { id: 'body' }, t('delivery.body')),
        one.body_shown ? h('pre', { tabindex: '0', 'aria-labelledby': 'body', dir: 'ltr', translate: 'no' }, inert(pretty(one.body), 100_000))
          : h('p', null, t('delivery.body_hidden'))),
    ],
  };
}

/** The result of each attempt. */
export function attempts(all) {
  if (all.length === 0) return h('p', null, t('delivery.no_attempts'));
  return h('ol', { class: 'attempts' }, all.map((one) => h('li', null,
    h('p', null, rich(remark(one) === '' ? 'delivery.attempt' : 'delivery.attempt_remark',
      { time: time(one.at), result: h('strong', null, resultOf(one)), remark: h('bdi', { class: 'soft', translate: 'no' }, remark(one)) })),
    one.answer === '' ? h('p', { class: 'soft' }, t('delivery.no_answer_body'))
      : h('figure', null, h('figcaption', { class: 'soft' }, t('delivery.answer_about')), h('pre', { tabindex: '0', dir: 'ltr', translate: 'no', class: 'answer', 'aria-label': t('delivery.answer') }, inert(one.answer))))));
}

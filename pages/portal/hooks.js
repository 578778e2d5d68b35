// The webhooks: the list, one webhook, and its actions.

import { rich, t } from './catalogue.js';
import { chart } from './chart.js';
import { attempts, deliveryList } from './deliveries.js';
import { action, copyable, field, form, h, renew, select, sure } from './dom.js';
import { badge } from './parts.js';
import { Problem, addressOf, errorText, families, healthOf, inert, later, moment, pretty, resultOf, subscription } from './texts.js';

const MOST = 20; // webhooks of an API key
const COUNTED = 10_000; // waiting deliveries; the API counts no further

const to = (hook) => `#/w/${encodeURIComponent(hook.webhook_id)}`;
const time = (iso) => h('time', { datetime: iso, title: iso }, moment(iso));
const foreign = (text, most) => h('bdi', { translate: 'no' }, inert(text, most));

/** All webhooks of the key. */
export async function listView(app) {
  const single = app.api.kind === 'bot';
  let seen = await app.api.glance(); // first: what changes between the two is shown twice, and not missed
  let hooks = await app.api.hooks();
  const content = () => {
    const room = single ? hooks.length === 0 : hooks.length < MOST;
    return [
      hooks.length === 0 && h('p', null, t('list.none')),
      hooks.map(card),
      h('div', { class: 'row' }, room && h('a', { class: 'act main', href: '#/new' }, t('list.add'))),
      !single && h('p', { class: 'soft' }, t(room ? 'list.count' : 'list.count_full', { used: hooks.length, limit: MOST })),
    ];
  };
  const body = h('div', null, content());
  return {
    title: t('page.title'),
    nodes: [h('div', { class: 'head' }, h('h2', { tabindex: '-1' }, t(single ? 'list.title_bot' : 'list.title')), app.refresher()), body],
    // One request shows whether anything has changed; only then is the health of each requested.
    live: async () => {
      const now = await app.api.glance();
      if (now === seen) return false;
      hooks = await app.api.hooks();
      seen = now;
      renew(body, content());
      return true;
    },
  };
}

function card(hook) {
  const { health } = hook;
  return h('article', { class: 'hook' },
    h('h3', null, h('a', { href: to(hook), translate: 'no' }, addressOf(hook.url))),
    h('p', null, badge(healthOf(hook)), hook.failing_since !== '' && hook.active && health.last_error !== '' && h('span', { class: 'soft' }, rich('list.last_error', { error: foreign(health.last_error, 200) }))),
    h('p', { class: 'soft', translate: 'no' }, hook.events.join(', ')),
    h('ul', { class: 'facts' },
      h('li', null, t('list.waiting', { count: health.waiting })),
      h('li', null, hook.last_triggered === '' ? t('list.never_sent') : rich('list.last_sent', { time: time(hook.last_triggered) })),
      h('li', null, t('list.usage', { used: health.events.used, limit: health.events.limit }))),
    chart(health.hours));
}

/** One webhook. */
export async function hookView(app, id) {
  let [hook, events] = await Promise.all([app.api.get(app.api.hook(id)), app.api.events()]);
  const path = app.api.hook(id);
  const state = h('div', null, stateNow(hook));
  const health = h('div', null, healthNow(hook));
  const list = await deliveryList(app, hook, events);
  // What others change meanwhile is shown as it is; forms that somebody is filling in stay as they are.
  const live = async () => {
    const now = await app.api.get(path);
    if (JSON.stringify(now) === JSON.stringify(hook)) return false;
    hook = now;
    renew(state, stateNow(hook));
    renew(health, healthNow(hook));
    await list.renew();
    return true;
  };
  return {
    title: addressOf(hook.url),
    live,
    nodes: [
      h('p', { class: 'back' }, h('a', { href: '#/' }, t('list.all'))),
      h('div', { class: 'head' }, h('h2', { tabindex: '-1', translate: 'no' }, addressOf(hook.url)), app.refresher()),
      state,
      h('section', { 'aria-labelledby': 'health' }, h('h3', { id: 'health' }, t('hook.health')), health),
      h('section', { 'aria-labelledby': 'try' }, h('h3', { id: 'try' }, t('hook.try')), trial(app, hook, live)),
      h('section', { 'aria-labelledby': 'deliveries' }, h('h3', { id: 'deliveries' }, t('hook.deliveries')), list.node, recovery(app, hook)),
      h('section', { 'aria-labelledby': 'settings' }, h('h3', { id: 'settings' }, t('hook.settings')),
        h('details', null, h('summary', null, t('hook.address_events')), editor(app, hook, events)),
        h('details', null, h('summary', null, t('hook.secret')), rotation(app, hook)),
        h('details', null, h('summary', null, t(hook.active ? 'hook.pause_remove' : 'hook.turn_on_remove')), switches(app, hook))),
    ],
  };
}

const stateNow = (hook) => [h('p', null, badge(healthOf(hook))), ended(hook)];
const healthNow = (hook) => [healthFacts(hook), chart(hook.health.hours), usage(hook.health.events)];

/** A test; its whole result is shown below its button. */
function trial(app, hook, live) {
  const path = app.api.hook(hook.webhook_id);
  const shown = h('div', { class: 'result' });
  return h('div', null, h('p', { class: 'soft' }, t('hook.test_about')),
    action(t('hook.test'), async (show) => {
      shown.replaceChildren();
      const got = await app.api.post(`${path}/test`);
      show(got.delivered ? 'good' : 'bad', t(got.delivered ? 'hook.test_delivered' : 'hook.test_failed', { result: resultOf(got) }), ' ',
        h('a', { href: `${to(hook)}/d/${encodeURIComponent(got.delivery_id)}` }, t('hook.show_delivery')));
      const whole = await app.api.get(`${path}/deliveries/${encodeURIComponent(got.delivery_id)}`);
      shown.replaceChildren(attempts(whole.attempted), h('details', null, h('summary', null, t('hook.sent')),
        h('pre', { tabindex: '0', dir: 'ltr', translate: 'no', 'aria-label': t('hook.sent') }, inert(pretty(whole.body), 100_000))));
      await live();
    }, errorText), shown);
}

function ended(hook) {
  if (hook.active) return null;
  const reason = ['tier', 'gone', 'failing', 'backlog'].includes(hook.ended) ? hook.ended : 'paused';
  return h('p', { class: 'note' }, t(`hook.ended_${reason}`));
}

function healthFacts(hook) {
  const { health } = hook;
  const fact = (name, value) => [h('dt', null, name), h('dd', null, value)];
  return h('dl', { class: 'pairs' },
    fact(t('hook.last_sent'), hook.last_triggered === '' ? t('common.never') : time(hook.last_triggered)),
    fact(t('hook.last_success'), health.last_success === '' ? t('common.never') : time(health.last_success)),
    fact(t('hook.waiting'), t(health.waiting === COUNTED ? 'hook.deliveries_or_more' : 'hook.deliveries_count', { count: health.waiting })),
    hook.failing_since !== '' && [fact(t('hook.failing_since'), time(hook.failing_since)), fact(t('hook.failures'), t('hook.attempts', { count: health.failures })),
      fact(t('hook.last_answer'), health.last_error ? foreign(health.last_error, 300) : t('common.none'))],
    fact(t('hook.id'), h('code', { translate: 'no' }, hook.webhook_id)));
}

function usage({ used, limit }) {
  const text = t('hook.usage_hour', { used, limit });
  return h('div', null, h('label', null, t('hook.usage'), ' ', h('meter', { min: 0, max: limit, high: limit * 0.9, value: used }, text)),
    h('p', { class: 'soft' }, text, ' ', t('hook.usage_over')));
}

/** Which events: boxes by family, and one for all. A family's box stands for its events. */
function eventBoxes(events, kind, chosen) {
  const missing = later(events);
  const box = (name, label) => {
    const input = h('input', { type: 'checkbox', value: name });
    input.checked = chosen.includes(name);
    return { name, input, node: h('label', { class: 'check' }, input, h('span', null, label, missing.has(name) && [' ', h('small', { class: 'soft' }, t('hook.not_emitted'))])) };
  };
  const all = box('*', t('hook.all_events'));
  const groups = families(events, kind).map((group) => ({ family: box(group.all, t('hook.all_of', { family: group.all })), names: group.names.map((name) => box(name, h('span', { translate: 'no' }, name))) }));
  const update = () => {
    for (const { family, names } of groups) {
      family.input.disabled = all.input.checked;
      for (const one of names) one.input.disabled = all.input.checked || family.input.checked;
    }
  };
  update();
  const node = h('fieldset', { on: { change: update } }, h('legend', null, t('hook.events')), all.node,
    groups.map(({ family, names }) => h('div', { class: 'group' }, family.node, h('div', { class: 'members' }, names.map((one) => one.node)))));
  const boxes = [all, ...groups.flatMap(({ family, names }) => [family, ...names])];
  return { node, value: () => subscription(boxes.filter((one) => one.input.checked).map((one) => one.name)) };
}

/** The address and events of a form, as the API takes them. */
function entered(url, boxes) {
  const body = { url: url.value.trim(), events: boxes.value() };
  if (body.url === '') throw new Problem('hook.no_address');
  if (body.events.length === 0) throw new Problem('hook.no_event');
  return body;
}

function editor(app, hook, events) {
  const url = h('input', { type: 'url', translate: 'no', value: hook.url, inputmode: 'url', autocomplete: 'off', spellcheck: 'false' });
  const boxes = eventBoxes(events, app.api.kind, hook.events);
  return form([field(t('hook.address'), url), boxes.node], t('hook.save'), async () => {
    await app.api.put(app.api.hook(hook.webhook_id), entered(url, boxes));
    await app.refresh(t('hook.saved'));
  }, errorText);
}

/** A new webhook. */
export async function newView(app) {
  const events = await app.api.events();
  const url = h('input', { type: 'url', translate: 'no', inputmode: 'url', autocomplete: 'off', spellcheck: 'false', placeholder: 'https://example.com/hook' });
  const own = h('input', { type: 'text', autocomplete: 'off', spellcheck: 'false' });
  const boxes = eventBoxes(events, app.api.kind, ['*']);
  const body = h('div', null);
  body.append(form([field(t('hook.address'), url, t('hook.address_hint')), boxes.node,
    h('details', null, h('summary', null, t('hook.own_secret')), field(t('hook.own_secret_label'), own, t('hook.own_secret_hint')))], t('hook.add'), async () => {
    const wanted = entered(url, boxes);
    if (own.value !== '') wanted.secret = own.value;
    const made = await app.api.post(app.api.hooksPath, wanted);
    body.replaceChildren(h('p', { class: 'outcome good', role: 'status' }, t('hook.added')),
      made.secret ? secretShown(made.secret) : made.secret_shown && h('p', { class: 'note' }, t('hook.secret_lost')),
      h('p', null, h('a', { class: 'act main', href: to(made) }, t('hook.open'))));
    body.querySelector('code, a')?.scrollIntoView({ block: 'nearest' });
  }, errorText));
  return { title: t('list.add'), nodes: [h('p', { class: 'back' }, h('a', { href: '#/' }, t('list.all'))), h('h2', { tabindex: '-1' }, t('list.add')), body] };
}

const secretShown = (secret) => h('div', { class: 'note' }, h('p', null, t('hook.secret_once')), copyable(secret, t('hook.the_secret')));

function rotation(app, hook) {
  const grace = select({ 0: t('hook.old_ends'), 3600: t('hook.old_hour'), 86400: t('hook.old_day'), 604800: t('hook.old_week') }, '86400');
  const shown = h('div', null);
  return h('div', null, h('p', null, t('hook.rotate_about')),
    form([field(t('hook.old_secret'), grace)], t('hook.rotate'), async (show) => {
      const made = await app.api.post(`${app.api.hook(hook.webhook_id)}/secret/rotate`, { grace_seconds: Number(grace.value) });
      show('good', made.previous_until === '' ? t('hook.rotated') : rich('hook.rotated_until', { time: time(made.previous_until) }));
      shown.replaceChildren(made.secret !== '' ? secretShown(made.secret)
        : h('p', { class: 'note' }, t('hook.rotate_lost')));
    }, errorText), shown);
}

function switches(app, hook) {
  const path = app.api.hook(hook.webhook_id);
  return h('div', { class: 'switches' },
    h('p', { class: 'soft' }, t(hook.active ? 'hook.paused_about' : 'hook.on_about')),
    action(t(hook.active ? 'hook.pause' : 'hook.turn_on'), async () => {
      await app.api.put(path, { active: !hook.active });
      await app.refresh(t(hook.active ? 'hook.paused' : 'hook.turned_on'));
    }, errorText),
    action(t('hook.remove'), async () => {
      await app.api.remove(path);
      app.go('#/', t('hook.removed'));
    }, errorText, {
      class: 'act danger',
      first: () => sure(t('hook.remove_title'), rich('hook.remove_about', { address: h('bdi', { translate: 'no' }, addressOf(hook.url)) }), t('hook.remove_yes'), t('hook.remove_no')),
    }));
}

function recovery(app, hook) {
  const since = h('input', { type: 'datetime-local', value: local(new Date(Date.now() - 86_400_000)) });
  return h('details', null, h('summary', null, t('hook.recover_title')),
    h('p', null, t('hook.recover_about')),
    form([field(t('hook.since'), since)], t('hook.recover'), async (show) => {
      if (since.value === '') throw new Problem('hook.recover_no_since');
      let from = new Date(since.value).toISOString();
      let total = 0;
      for (let calls = 0; calls < 20 && from !== ''; calls++) {
        const done = await app.api.post(`${app.api.hook(hook.webhook_id)}/recover`, { since: from });
        total += done.recovered;
        from = done.next_since;
      }
      if (total === 0) return show('', t('hook.recover_none'));
      show('good', t(from === '' ? 'hook.recovered' : 'hook.recovered_more', { count: total }));
    }, errorText));
}

/** A time as its field takes it, in the person's time zone. */
export function local(at) {
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

// The webhooks: the list, one of them, and what is done with it.

import { chart } from './chart.js';
import { attempts, deliveryList } from './deliveries.js';
import { copyable, deed, field, form, h, renew, select, sure } from './dom.js';
import { addressOf, count, families, healthOf, inert, later, moment, pretty, resultOf, subscription, trouble } from './words.js';

export const MOST = 20; // webhooks of an API key

const to = (hook) => `#/w/${encodeURIComponent(hook.webhook_id)}`;
const time = (iso) => h('time', { datetime: iso, title: iso }, moment(iso));
const SIGNS = { good: '●', bad: '▲', off: '■', new: '○' };

/** A state: its sign and its words, which say it without colour too. */
export const badge = ({ kind, text }) => h('span', { class: `badge ${kind}` }, h('span', { 'aria-hidden': 'true' }, `${SIGNS[kind]} `), text);

/** All webhooks of the key. */
export async function listView(app) {
  const single = app.api.kind === 'bot';
  let seen = await app.api.glance(); // first: what changes between the two is shown twice, and not missed
  let hooks = await app.api.hooks();
  const content = () => {
    const room = single ? hooks.length === 0 : hooks.length < MOST;
    return [
      hooks.length === 0 && h('p', null, 'There is none yet. A webhook is an address of yours that purser calls when something happens.'),
      hooks.map(card),
      h('div', { class: 'row' }, room && h('a', { class: 'act main', href: '#/new' }, 'Add a webhook')),
      !single && h('p', { class: 'soft' }, `${hooks.length} of ${MOST} webhooks.`, room ? '' : ' Remove one to add another.'),
    ];
  };
  const body = h('div', null, content());
  return {
    title: 'Webhooks',
    nodes: [h('div', { class: 'head' }, h('h2', { tabindex: '-1' }, single ? 'The webhook of this bot token' : 'Webhooks of this key'), app.refresher()), body],
    // One request tells whether anything has changed; only then is the health of each asked for.
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
    h('h3', null, h('a', { href: to(hook) }, addressOf(hook.url))),
    h('p', null, badge(healthOf(hook)), hook.failing_since !== '' && hook.active && health.last_error !== '' && h('span', { class: 'soft' }, `: ${inert(health.last_error, 200)}`)),
    h('p', { class: 'soft' }, hook.events.join(', ')),
    h('ul', { class: 'facts' },
      h('li', null, `${count(health.waiting, 'delivery', 'deliveries')} waiting`),
      h('li', null, hook.last_triggered === '' ? 'never triggered' : ['last triggered ', time(hook.last_triggered)]),
      h('li', null, `${health.events.used.toLocaleString('en')} of ${health.events.limit.toLocaleString('en')} events in the last hour`)),
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
      h('p', { class: 'back' }, h('a', { href: '#/' }, '← All webhooks')),
      h('div', { class: 'head' }, h('h2', { tabindex: '-1' }, addressOf(hook.url)), app.refresher()),
      state,
      h('section', { 'aria-labelledby': 'health' }, h('h3', { id: 'health' }, 'Health'), health),
      h('section', { 'aria-labelledby': 'try' }, h('h3', { id: 'try' }, 'Try it'), trial(app, hook, live)),
      h('section', { 'aria-labelledby': 'deliveries' }, h('h3', { id: 'deliveries' }, 'Deliveries'), list.node, recovery(app, hook)),
      h('section', { 'aria-labelledby': 'settings' }, h('h3', { id: 'settings' }, 'Settings'),
        h('details', null, h('summary', null, 'Address and events'), editor(app, hook, events)),
        h('details', null, h('summary', null, 'Signing secret'), rotation(app, hook)),
        h('details', null, h('summary', null, hook.active ? 'Pause or remove' : 'Turn on or remove'), switches(app, hook))),
    ],
  };
}

const stateNow = (hook) => [h('p', null, badge(healthOf(hook))), ended(hook)];
const healthNow = (hook) => [healthFacts(hook), chart(hook.health.hours), usage(hook.health.events)];

/** A test whose whole result is shown where it was asked for. */
function trial(app, hook, live) {
  const path = app.api.hook(hook.webhook_id);
  const shown = h('div', { class: 'result' });
  return h('div', null, h('p', { class: 'soft' }, 'Sends the event webhook.test now, once.'),
    deed('Send a test', async (say) => {
      shown.replaceChildren();
      const got = await app.api.post(`${path}/test`);
      say(got.delivered ? 'good' : 'bad', got.delivered ? 'Delivered: ' : 'Not delivered: ', resultOf(got), '. ',
        h('a', { href: `${to(hook)}/d/${encodeURIComponent(got.delivery_id)}` }, 'Look at it'));
      const whole = await app.api.get(`${path}/deliveries/${encodeURIComponent(got.delivery_id)}`);
      shown.replaceChildren(attempts(whole.attempted), h('details', null, h('summary', null, 'What was sent'),
        h('pre', { tabindex: '0', dir: 'ltr', 'aria-label': 'What was sent' }, inert(pretty(whole.body), 100_000))));
      await live();
    }, trouble), shown);
}

function ended(hook) {
  if (hook.active) return null;
  if (hook.ended === 'tier') return h('p', { class: 'note' }, 'Webhooks need the pro tier. No event is kept for it meanwhile. It starts again by itself when the operator sets its key to pro.');
  const why = { gone: 'Its receiver answered 410, which means that it wants no more events.', failing: 'It has taken no event for days.' }[hook.ended] ?? 'It is paused.';
  return h('p', { class: 'note' }, `${why} No event is kept for it meanwhile. Turn it on again below, under Settings.`);
}

function healthFacts(hook) {
  const { health } = hook;
  const fact = (name, value) => [h('dt', null, name), h('dd', null, value)];
  return h('dl', { class: 'pairs' },
    fact('Last triggered', hook.last_triggered === '' ? 'never' : time(hook.last_triggered)),
    fact('Last success', health.last_success === '' ? 'never' : time(health.last_success)),
    fact('Waiting', `${count(health.waiting, 'delivery', 'deliveries')}${health.waiting === 10_000 ? ' or more' : ''}`),
    hook.failing_since !== '' && [fact('Failing since', time(hook.failing_since)), fact('Failed in a row', count(health.failures, 'attempt')),
      fact('Last answer', inert(health.last_error || 'none', 300))],
    fact('Identifier', h('code', null, hook.webhook_id)));
}

function usage({ used, limit }) {
  const words = `${used.toLocaleString('en')} of ${limit.toLocaleString('en')} events in the last hour.`;
  return h('div', null, h('label', null, 'Usage ', h('meter', { min: 0, max: limit, high: limit * 0.9, value: used }, words)), h('p', { class: 'soft' }, `${words} What is over the limit waits, and is not lost.`));
}

/** Which events: boxes by family, and one for all. A family's box stands for its events. */
function eventBoxes(events, kind, chosen) {
  const missing = later(events);
  const box = (name, label) => {
    const input = h('input', { type: 'checkbox', value: name });
    input.checked = chosen.includes(name);
    return { name, input, node: h('label', { class: 'check' }, input, h('span', null, label, missing.has(name) && h('small', { class: 'soft' }, ' not emitted yet'))) };
  };
  const all = box('*', 'All events, also those that are added later');
  const groups = families(events, kind).map((group) => ({ family: box(group.all, `All of ${group.all}`), names: group.names.map((name) => box(name, name)) }));
  const update = () => {
    for (const { family, names } of groups) {
      family.input.disabled = all.input.checked;
      for (const one of names) one.input.disabled = all.input.checked || family.input.checked;
    }
  };
  update();
  const node = h('fieldset', { on: { change: update } }, h('legend', null, 'Events'), all.node,
    groups.map(({ family, names }) => h('div', { class: 'group' }, family.node, h('div', { class: 'members' }, names.map((one) => one.node)))));
  const boxes = [all, ...groups.flatMap(({ family, names }) => [family, ...names])];
  return { node, value: () => subscription(boxes.filter((one) => one.input.checked).map((one) => one.name)) };
}

class Problem extends Error {}
const told = (err) => (err instanceof Problem ? err.message : trouble(err));

function wanted(url, boxes) {
  const body = { url: url.value.trim(), events: boxes.value() };
  if (body.url === '') throw new Problem('Give the address that purser shall call, beginning with https://');
  if (body.events.length === 0) throw new Problem('Choose one event at least.');
  return body;
}

function editor(app, hook, events) {
  const url = h('input', { type: 'url', value: hook.url, inputmode: 'url', autocomplete: 'off', spellcheck: 'false' });
  const boxes = eventBoxes(events, app.api.kind, hook.events);
  return form([field('Address', url), boxes.node], 'Save', async () => {
    await app.api.put(app.api.hook(hook.webhook_id), wanted(url, boxes));
    await app.refresh('Saved.');
  }, told);
}

/** A new webhook. */
export async function newView(app) {
  const events = await app.api.events();
  const url = h('input', { type: 'url', inputmode: 'url', autocomplete: 'off', spellcheck: 'false', placeholder: 'https://example.com/hook' });
  const own = h('input', { type: 'text', autocomplete: 'off', spellcheck: 'false' });
  const boxes = eventBoxes(events, app.api.kind, ['*']);
  const body = h('div', null);
  body.append(form([field('Address', url, 'https, and open to the internet. purser sends a POST there for each event.'), boxes.node,
    h('details', null, h('summary', null, 'A signing secret of your own'), field('Secret', own, 'Best left empty: purser then generates one that every Standard Webhooks library takes, and shows it once. Your own has 16 to 128 characters. Give libraries a literal one (not whsec_ and base64) as bytes, in JavaScript with {format: "raw"}.'))], 'Add it', async () => {
    const asked = wanted(url, boxes);
    if (own.value !== '') asked.secret = own.value;
    const made = await app.api.post(app.api.hooksPath, asked);
    body.replaceChildren(h('p', { class: 'outcome good', role: 'status' }, 'The webhook is there. '),
      made.secret ? secretShown(made.secret) : made.secret_shown && h('p', { class: 'note' }, 'Its secret was told in an answer that got lost. Rotate it to have a new one.'),
      h('p', null, h('a', { class: 'act main', href: to(made) }, 'Go on to it')));
    body.querySelector('code, a')?.scrollIntoView({ block: 'nearest' });
  }, told));
  return { title: 'Add a webhook', nodes: [h('p', { class: 'back' }, h('a', { href: '#/' }, '← All webhooks')), h('h2', { tabindex: '-1' }, 'Add a webhook'), body] };
}

const secretShown = (secret) => h('div', { class: 'note' }, h('p', null, 'This is the only time that the signing secret is shown. Save it now: your receiver checks deliveries with it.'), copyable(secret, 'the signing secret'));

function rotation(app, hook) {
  const grace = select({ 0: 'ends at once', 3600: 'works for an hour more', 86400: 'works for a day more', 604800: 'works for a week more' }, '86400');
  const shown = h('div', null);
  return h('div', null, h('p', null, 'A new secret takes the place of the one before. Until that ends, deliveries are signed with both, so that your receiver can change over.'),
    form([field('The old secret', grace)], 'Rotate the secret', async (say) => {
      const made = await app.api.post(`${app.api.hook(hook.webhook_id)}/secret/rotate`, { grace_seconds: Number(grace.value) });
      say('good', 'Rotated. ', made.previous_until === '' ? 'The old secret has ended.' : ['Only the secret before this one stays good until ', time(made.previous_until), ': rotating again ends an earlier grace at once.']);
      shown.replaceChildren(made.secret !== '' ? secretShown(made.secret)
        : h('p', { class: 'note' }, 'The new secret was told in an answer that got lost. Rotate once more.'));
    }, trouble), shown);
}

function switches(app, hook) {
  const path = app.api.hook(hook.webhook_id);
  return h('div', { class: 'switches' },
    h('p', { class: 'soft' }, hook.active ? 'While it is paused, no event is kept for it.' : 'Turned on, it gets what happens from then on.'),
    deed(hook.active ? 'Pause' : 'Turn on', async () => {
      await app.api.put(path, { active: !hook.active });
      await app.refresh(hook.active ? 'Paused.' : 'It is on again.');
    }, trouble),
    deed('Remove', async () => {
      await app.api.remove(path);
      app.go('#/', 'Removed.');
    }, trouble, {
      class: 'act danger',
      first: () => sure('Remove this webhook?', `${addressOf(hook.url)} gets no more events, and what waits for it is lost. Nothing brings it back.`, 'Remove it', 'Keep it'),
    }));
}

function recovery(app, hook) {
  const since = h('input', { type: 'datetime-local', value: local(new Date(Date.now() - 86_400_000)) });
  return h('details', null, h('summary', null, 'Send again all that was given up'),
    h('p', null, 'What was given up since a time is attempted again, oldest first, as long as it is kept.'),
    form([field('Since', since)], 'Send all again', async (say) => {
      if (since.value === '') throw new Problem('Give the time from which on.');
      let from = new Date(since.value).toISOString();
      let total = 0;
      for (let calls = 0; calls < 20 && from !== ''; calls++) {
        const done = await app.api.post(`${app.api.hook(hook.webhook_id)}/recover`, { since: from });
        total += done.recovered;
        from = done.next_since;
      }
      if (total === 0) return say('', 'There was nothing to send: given up since then was nothing that is still kept, allowed and asked for. Tests are not sent again.');
      say('good', `${count(total, 'delivery', 'deliveries')} will be attempted again.${from === '' ? '' : ' There is more: do it once more.'}`);
    }, told));
}

/** A time as its field wants it, on the clock of whoever looks. */
export function local(at) {
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

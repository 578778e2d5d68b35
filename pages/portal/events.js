// What there is to subscribe to.

import { h } from './dom.js';
import { inert } from './words.js';

/** All events of the key's kind, each with its schema and an example. */
export async function eventsView(app) {
  const all = (await app.api.events()).filter((one) => one.kind === app.api.kind || one.event === 'webhook.test');
  return {
    title: 'Events',
    nodes: [
      h('h2', { tabindex: '-1' }, 'Events'),
      h('p', null, 'What a webhook can ask for. Fields may be added to an event; none is taken away.'),
      all.map((one) => h('article', null, h('h3', null, h('code', null, one.event)), h('p', null, one.when, one.emitted === false && h('strong', { class: 'soft' }, ' Not emitted yet: it comes with a later version.')), h('p', { class: 'soft' }, whose(one)),
        shown(`An example of ${one.event}`, 'An example', one.example), shown(`JSON Schema of ${one.event}`, 'JSON Schema', one.schema))),
    ],
  };
}

function whose(one) {
  if (one.public) return 'About nobody: every webhook may have it.';
  if (one.scope === '') return 'For this webhook alone.';
  return `About somebody: of the key’s owner, and of people who allow your app ${one.scope}.`;
}

function shown(name, title, value) {
  if (value === undefined) return null;
  return h('details', null, h('summary', null, title), h('pre', { tabindex: '0', 'aria-label': name }, inert(JSON.stringify(value, null, 2), 100_000)));
}

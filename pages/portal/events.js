// The catalogue of events to subscribe to.

import { t } from './catalogue.js';
import { h } from './dom.js';
import { inert } from './texts.js';

/** All events of the key's kind, each with its schema and an example. */
export async function eventsView(app) {
  const all = (await app.api.events()).filter((one) => one.kind === app.api.kind || one.event === 'webhook.test');
  return {
    title: t('events.title'),
    nodes: [
      h('h2', { tabindex: '-1' }, t('events.title')),
      h('p', null, t('events.about')),
      all.map((one) => h('article', null, h('h3', null, h('code', { translate: 'no' }, one.event)), h('p', null, h('span', { translate: 'no' }, one.when), one.emitted === false && [' ', h('strong', { class: 'soft' }, t('events.not_emitted'))]), h('p', { class: 'soft' }, recipientsOf(one)),
        shown(t('events.example_of', { event: one.event }), t('events.example'), one.example), shown(t('events.schema_of', { event: one.event }), t('events.schema'), one.schema))),
    ],
  };
}

function recipientsOf(one) {
  if (one.public) return t('events.public');
  if (one.scope === '') return t('events.own');
  return t('events.personal', { scope: one.scope });
}

function shown(name, title, value) {
  if (value === undefined) return null;
  return h('details', null, h('summary', null, title), h('pre', { tabindex: '0', translate: 'no', dir: 'ltr', 'aria-label': name }, inert(JSON.stringify(value, null, 2), 100_000)));
}

// The portal: who is signed in, and which view is shown. A link from the chat (#t=…) becomes a session,
// which this tab keeps until it ends; #/… names the view. A link may end with "&lang=<tag>", the person's language as
// the chat knows it.

import { Api } from './api.js';
import { load, rich, t, translate } from './catalogue.js';
import { button, h, renew } from './dom.js';
import { eventsView } from './events.js';
import { hookView, listView, newView } from './hooks.js';
import { deliveryView } from './deliveries.js';
import { LANGUAGES } from './languages.js';
import { errorText, inert, moment, pauseOf, sentence, zoneName } from './texts.js';

const KEPT = 'purser.portal'; // in sessionStorage: of this tab and origin alone
const RESERVE = 200; // of the session's requests, which automatic refreshes leave to the person

const main = document.getElementById('content');
const announcement = document.getElementById('announcement');
const who = document.getElementById('who');
const places = document.getElementById('places');

const api = new Api(document.querySelector('meta[name="purser-api"]').content, { over: (refusal) => leave('over', refusal) });
let session = null;
let turn = 0;
let greeting = ''; // announced with the next view
let polling = null; // of the view that is shown: {timer, now}

const app = {
  api,
  refresher: () => button(t('common.refresh'), () => app.refresh(t('common.refreshed'))),
  refresh: (text = '') => {
    greeting = text;
    return route();
  },
  // Shows the same place as it is now and announces nothing: the focus and the scroll stay.
  renew: () => route(true),
  go: (place, text = '') => {
    greeting = text;
    if (location.hash === place) return route();
    location.hash = place;
  },
};

const [, named = kept()?.language] = /&lang=([A-Za-z0-9-]{2,35})$/.exec(location.hash) ?? []; // kept for when the tab is loaded again
load(LANGUAGES, [named, ...(navigator.languages ?? [])].filter(Boolean)).then(() => {
  translate();
  document.getElementById('skip').addEventListener('click', () => main.focus());
  addEventListener('hashchange', () => route());
  document.addEventListener('visibilitychange', () => { if (!document.hidden) polling?.now(); });
  return route();
}, () => { document.getElementById('unloaded').hidden = false; }); // written in the HTML

/** Shows what the address asks for. */
async function route(silent = false) {
  const mine = ++turn;
  if (location.hash.startsWith('#t=')) {
    const token = location.hash.slice(3).split('&')[0];
    history.replaceState(null, '', `${location.pathname}#/`); // it opens once: nobody shall find it here
    const running = session ?? kept();
    if (running && Date.parse(running.expires_at) > Date.now()) return confirmSwitch(token, running);
    if (!await enter(token) || mine !== turn) return;
  }
  session ??= kept();
  if (!session) return leave('none');
  api.session = session.session;
  api.kind = session.kind;
  greet();
  main.setAttribute('aria-busy', 'true');
  try {
    const view = await viewOf(location.hash);
    if (mine === turn && session) show(view, mine, silent);
  } catch (err) {
    if (mine === turn && session) show(failed(err), mine, silent);
  } finally {
    if (mine === turn) main.removeAttribute('aria-busy');
  }
}

function viewOf(hash) {
  const [place, id, inner, innerID] = hash.replace(/^#\/?/, '').split('/').map(decoded);
  if (place === 'w' && id && inner === 'd' && innerID) return deliveryView(app, id, innerID);
  if (place === 'w' && id) return hookView(app, id);
  if (place === 'new') return newView(app);
  if (place === 'events') return eventsView(app);
  return listView(app);
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return '';
  }
}

function show(view, mine, silent) {
  renew(main, view.nodes, silent);
  document.title = t('common.page_title', { title: inert(view.title, 80) });
  if (!silent) {
    announcement.textContent = greeting;
    greeting = '';
    scrollTo(0, 0);
    main.querySelector('h2')?.focus({ preventScroll: true });
  }
  poll(view, mine);
}

/** Has a view check by itself whether something has changed: more often while it does, and not while nobody sees it. */
function poll(view, mine) {
  clearTimeout(polling?.timer);
  polling = null;
  if (!view.live) return;
  let quiet = 0;
  let checking = false;
  const again = () => { polling.timer = setTimeout(now, pauseOf(quiet, view.quick)); };
  const now = async () => {
    if (mine !== turn || !session || checking) return;
    clearTimeout(polling.timer);
    if (!document.hidden && api.left > RESERVE) {
      checking = true;
      try {
        quiet = await view.live() ? 0 : quiet + 1;
      } catch {
        quiet++; // the person can refresh, and then sees what is wrong
      }
      checking = false;
    }
    if (mine === turn && session) again();
  };
  polling = { timer: 0, now };
  again();
}

/** Asks before a link replaces a session that runs: the link may be somebody else's, who wants secrets entered there. */
function confirmSwitch(token, running) {
  session = running;
  greet();
  document.title = t('common.page_title', { title: t('session.other_title') });
  main.removeAttribute('aria-busy');
  main.replaceChildren(h('h2', { tabindex: '-1' }, t('session.other_title')),
    h('p', null, ...rich('session.other', { key: nameOf(running) })),
    h('p', null, t('session.other_warning')),
    h('div', { class: 'row' }, button(t('session.stay'), () => route(), { class: 'act main' }), button(t('session.open_link'), async () => { if (await enter(token)) await route(); })));
  announcement.textContent = '';
  main.querySelector('h2').focus({ preventScroll: true });
}

/** A key as people know it, with the name of its app isolated. */
function nameOf({ kind, key_hint: hint, app: name }) {
  const key = `session.${kind === 'bot' ? 'bot_token' : 'api_key'}${name === '' ? '' : '_app'}`;
  return h('bdi', null, rich(key, { hint: inert(hint, 20), app: h('bdi', { translate: 'no' }, inert(name, 100)) }));
}

function failed(err) {
  if (!err.code) console.error(err); // a mistake of ours, and no answer
  return {
    title: t('error.title'),
    nodes: [h('p', { class: 'back' }, h('a', { href: '#/' }, t('list.all'))), h('h2', { tabindex: '-1' }, t('error.title')),
      h('p', { class: 'outcome bad' }, errorText(err)), h('div', { class: 'row' }, button(t('common.try_again'), () => app.refresh()))],
  };
}

/** Turns the token of a link into a session. */
async function enter(token) {
  forget();
  announcement.textContent = t('session.opening');
  try {
    session = { ...await api.post('/v1/portal/session', { token }), language: named };
  } catch (err) {
    if (err.code !== 'INVALID_API_KEY') offerAgain(token, err); // else leave has been called already
    return false;
  }
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(session));
  } catch {
    // This tab loses it on a reload; the chat has another link.
  }
  return true;
}

function offerAgain(token, err) {
  main.replaceChildren(h('h2', { tabindex: '-1' }, t('error.title')), h('p', { class: 'outcome bad' }, errorText(err)),
    h('div', { class: 'row' }, button(t('common.try_again'), async () => { if (await enter(token)) await route(); })));
  announcement.textContent = '';
  main.querySelector('h2').focus();
}

function kept() {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEPT));
    return typeof found?.session === 'string' ? found : null;
  } catch {
    return null;
  }
}

function forget() {
  session = null;
  Object.assign(api, { session: '', left: Infinity });
  try {
    sessionStorage.removeItem(KEPT);
  } catch {
    // There was nothing.
  }
}

function greet() {
  const details = { tier: session.tier, cluster: session.cluster, until: moment(session.expires_at), zone: zoneName() };
  who.replaceChildren(...rich('session.who', { key: nameOf(session), ...details }));
  const here = location.hash.startsWith('#/events') ? 'events' : 'hooks';
  const place = (name, href, label) => h('a', { href, 'aria-current': name === here ? 'page' : null }, label);
  places.replaceChildren(place('hooks', '#/', t('session.webhooks')), place('events', '#/events', t('session.events')), button(t('session.sign_out'), signOut));
  places.hidden = false;
}

async function signOut() {
  try {
    await api.remove('/v1/portal/session');
  } catch (err) {
    if (err.code === 'INVALID_API_KEY') return; // it had ended already, and the page shows that
    announcement.textContent = errorText(err);
    return;
  }
  leave('out');
}

/** Ends the session in this tab: shows why, out, over or none, and how to sign in. */
function leave(why, refusal = null) {
  const bot = session?.bot ?? '';
  const details = sentence(inert(refusal?.details ?? '', 300));
  const explained = session !== null;
  forget();
  turn++;
  who.textContent = '';
  places.hidden = true;
  places.replaceChildren();
  const title = t(`session.${why}_title`);
  const text = why !== 'over' ? t(`session.${why}`) : explained ? t('session.over', { details }) : details;
  document.title = t('common.page_title', { title });
  main.removeAttribute('aria-busy');
  main.replaceChildren(h('h2', { tabindex: '-1' }, title), h('p', null, text),
    h('p', null, bot === '' ? t('session.how') : t('session.how_bot', { bot: inert(bot, 64) })));
  announcement.textContent = '';
  main.querySelector('h2').focus({ preventScroll: true });
}

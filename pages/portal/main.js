// The portal: who is here, and which view is shown. A link from the chat (#t=…) becomes a session,
// which this tab keeps until it ends; #/… says what is looked at.

import { Api } from './api.js';
import { button, h } from './dom.js';
import { eventsView } from './events.js';
import { hookView, listView, newView } from './hooks.js';
import { deliveryView } from './deliveries.js';
import { inert, moment, sentence, trouble, zoneName } from './words.js';

const KEPT = 'purser.portal'; // in sessionStorage: of this tab and origin alone
const LOOKS = 20; // at what waits, before it is left to the person
const PAUSE = 3000;

const main = document.getElementById('content');
const said = document.getElementById('said');
const who = document.getElementById('who');
const places = document.getElementById('places');

const api = new Api(document.querySelector('meta[name="purser-api"]').content, { over: (refusal) => leave('over', refusal) });
let session = null;
let turn = 0;
let greeting = ''; // said when the next view stands

const app = {
  api,
  refresher: () => button('Refresh', () => app.refresh('Refreshed.')),
  refresh: (text = '') => {
    greeting = text;
    return route();
  },
  go: (place, text = '') => {
    greeting = text;
    if (location.hash === place) return route();
    location.hash = place;
  },
};

document.getElementById('skip').addEventListener('click', () => main.focus());
addEventListener('hashchange', route);
route();

/** Shows what the address asks for. */
async function route() {
  const mine = ++turn;
  if (location.hash.startsWith('#t=')) {
    const token = location.hash.slice(3);
    history.replaceState(null, '', `${location.pathname}#/`); // it opens once: nobody shall find it here
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
    if (mine === turn && session) show(view, mine);
  } catch (err) {
    if (mine === turn && session) show(failed(err), mine);
  } finally {
    if (mine === turn) main.removeAttribute('aria-busy');
  }
}

function viewOf(hash) {
  const [place, id, inner, innerID] = hash.replace(/^#\/?/, '').split('/').map(plainly);
  if (place === 'w' && id && inner === 'd' && innerID) return deliveryView(app, id, innerID);
  if (place === 'w' && id) return hookView(app, id);
  if (place === 'new') return newView(app);
  if (place === 'events') return eventsView(app);
  return listView(app);
}

function plainly(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return '';
  }
}

function show(view, mine, looks = 0) {
  main.replaceChildren(...view.nodes.flat(Infinity).filter((node) => node !== null && node !== undefined && node !== false));
  document.title = `${inert(view.title, 80)} · purser webhooks`;
  said.textContent = greeting;
  greeting = '';
  if (looks === 0) {
    scrollTo(0, 0);
    main.querySelector('h2')?.focus({ preventScroll: true });
  }
  if (view.again && looks < LOOKS) setTimeout(() => lookAgain(view, mine, looks + 1), PAUSE);
}

/** Looks whether what waits has come further; the view stays as it is while nothing has. */
async function lookAgain(before, mine, looks) {
  if (mine !== turn || !session) return;
  try {
    const view = document.hidden ? before : await viewOf(location.hash);
    if (mine !== turn || !session) return;
    if (view.same !== before.same) return show(view, mine, looks);
    if (looks < LOOKS) setTimeout(() => lookAgain(before, mine, looks + 1), PAUSE);
  } catch {
    // The person can refresh.
  }
}

function failed(err) {
  if (!err.code) console.error(err); // a mistake of ours, and no answer
  return {
    title: 'That did not work',
    nodes: [h('p', { class: 'back' }, h('a', { href: '#/' }, '← All webhooks')), h('h2', { tabindex: '-1' }, 'That did not work'),
      h('p', { class: 'outcome bad' }, trouble(err)), h('div', { class: 'row' }, button('Try again', () => app.refresh()))],
  };
}

/** Turns the token of a link into a session. */
async function enter(token) {
  forget();
  said.textContent = 'Opening …';
  try {
    session = await api.post('/v1/portal/session', { token });
  } catch (err) {
    if (err.code !== 'INVALID_API_KEY') offerAgain(token, err); // else leave was told already
    return false;
  }
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(session));
  } catch {
    // This tab forgets it when it is loaded anew; the chat has another link.
  }
  return true;
}

function offerAgain(token, err) {
  main.replaceChildren(h('h2', { tabindex: '-1' }, 'That did not work'), h('p', { class: 'outcome bad' }, trouble(err)),
    h('div', { class: 'row' }, button('Try again', async () => { if (await enter(token)) await route(); })));
  said.textContent = '';
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
  api.session = '';
  try {
    sessionStorage.removeItem(KEPT);
  } catch {
    // There was nothing.
  }
}

function greet() {
  who.textContent = `${session.kind === 'bot' ? 'Bot token' : 'API key'} …${inert(session.key_hint, 20)}${session.app === '' ? '' : ` of ${inert(session.app, 100)}`}, ${session.tier}, ${session.cluster}. Open until ${moment(session.expires_at)}. Times are those of ${zoneName()}.`;
  const here = location.hash.startsWith('#/events') ? 'events' : 'hooks';
  const place = (name, href, label) => h('a', { href, 'aria-current': name === here ? 'page' : null }, label);
  places.replaceChildren(place('hooks', '#/', 'Webhooks'), place('events', '#/events', 'Events'), button('Sign out', signOut));
  places.hidden = false;
}

async function signOut() {
  try {
    await api.remove('/v1/portal/session');
  } catch (err) {
    if (err.code === 'INVALID_API_KEY') return; // it was over already, and that is said
    said.textContent = trouble(err);
    return;
  }
  leave('out');
}

/** Shows that nobody is signed in, why, and what to do. */
function leave(why, refusal = null) {
  const bot = session?.bot ?? '';
  const lasted = session ? ' A session lasts two hours, and no longer than its key; it ends, too, when purser starts anew.' : '';
  forget();
  turn++;
  who.textContent = '';
  places.hidden = true;
  places.replaceChildren();
  const [title, text] = {
    out: ['You are signed out', 'The session has ended. This tab keeps nothing of it.'],
    over: ['Open the portal again', `${sentence(inert(refusal?.details ?? '', 300))}${lasted}`],
    none: ['Open the portal from the chat', 'This page knows nobody by itself: a link from your chat opens it.'],
  }[why];
  document.title = `${title} · purser webhooks`;
  main.removeAttribute('aria-busy');
  main.replaceChildren(h('h2', { tabindex: '-1' }, title), h('p', null, text),
    h('p', null, `In your private chat with ${bot === '' ? 'the bot' : `@${inert(bot, 64)}`}, send /api, choose the key and tap “Webhooks”. The link works once, within ten minutes.`));
  said.textContent = '';
  main.querySelector('h2').focus({ preventScroll: true });
}

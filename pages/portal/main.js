// The portal: who is here, and which view is shown. A link from the chat (#t=…) becomes a session,
// which this tab keeps until it ends; #/… says what is looked at.

import { Api } from './api.js';
import { button, h, renew } from './dom.js';
import { eventsView } from './events.js';
import { hookView, listView, newView } from './hooks.js';
import { deliveryView } from './deliveries.js';
import { inert, moment, pauseOf, sentence, trouble, zoneName } from './words.js';

const KEPT = 'purser.portal'; // in sessionStorage: of this tab and origin alone
const RESERVE = 200; // of the session's requests, that looks by themselves leave to the person

const main = document.getElementById('content');
const said = document.getElementById('said');
const who = document.getElementById('who');
const places = document.getElementById('places');

const api = new Api(document.querySelector('meta[name="purser-api"]').content, { over: (refusal) => leave('over', refusal) });
let session = null;
let turn = 0;
let greeting = ''; // said when the next view stands
let look = null; // of the view that stands, by itself: {timer, now}

const app = {
  api,
  refresher: () => button('Refresh', () => app.refresh('Refreshed.')),
  refresh: (text = '') => {
    greeting = text;
    return route();
  },
  // The same place as it is now, without a word: the focus and the scroll stay.
  renew: () => route(true),
  go: (place, text = '') => {
    greeting = text;
    if (location.hash === place) return route();
    location.hash = place;
  },
};

document.getElementById('skip').addEventListener('click', () => main.focus());
addEventListener('hashchange', () => route());
document.addEventListener('visibilitychange', () => { if (!document.hidden) look?.now(); });
route();

/** Shows what the address asks for. */
async function route(silent = false) {
  const mine = ++turn;
  if (location.hash.startsWith('#t=')) {
    const token = location.hash.slice(3);
    history.replaceState(null, '', `${location.pathname}#/`); // it opens once: nobody shall find it here
    const running = session ?? kept();
    if (running && Date.parse(running.expires_at) > Date.now()) return whose(token, running);
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

function show(view, mine, silent) {
  renew(main, view.nodes, silent);
  document.title = `${inert(view.title, 80)} · purser webhooks`;
  if (!silent) {
    said.textContent = greeting;
    greeting = '';
    scrollTo(0, 0);
    main.querySelector('h2')?.focus({ preventScroll: true });
  }
  tend(view, mine);
}

/** Has a view look by itself whether something has changed: oftener while it does, and not while nobody sees it. */
function tend(view, mine) {
  clearTimeout(look?.timer);
  look = null;
  if (!view.live) return;
  let quiet = 0;
  let looking = false;
  const again = () => { look.timer = setTimeout(now, pauseOf(quiet, view.quick)); };
  const now = async () => {
    if (mine !== turn || !session || looking) return;
    clearTimeout(look.timer);
    if (!document.hidden && api.left > RESERVE) {
      looking = true;
      try {
        quiet = await view.live() ? 0 : quiet + 1;
      } catch {
        quiet++; // the person can refresh, and is told then what is wrong
      }
      looking = false;
    }
    if (mine === turn && session) again();
  };
  look = { timer: 0, now };
  again();
}

/** Asks before a link takes the place of a session that runs: it may be somebody else's, who wants secrets put into it. */
function whose(token, running) {
  session = running;
  greet();
  document.title = 'Open another portal? · purser webhooks';
  main.removeAttribute('aria-busy');
  main.replaceChildren(h('h2', { tabindex: '-1' }, 'Open another portal?'),
    h('p', null, `You are signed in with the ${nameOf(running)}. This link opens another session, maybe of somebody else’s key, and ends yours in this tab.`),
    h('p', null, 'Open it only if you asked for it in your own chat with the bot just now.'),
    h('div', { class: 'row' }, button('Stay here', () => route(), { class: 'act main' }), button('Open the link', async () => { if (await enter(token)) await route(); })));
  said.textContent = '';
  main.querySelector('h2').focus({ preventScroll: true });
}

function nameOf(one) {
  return `${one.kind === 'bot' ? 'bot token' : 'API key'} …${inert(one.key_hint, 20)}${one.app === '' ? '' : ` of ${inert(one.app, 100)}`}`;
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
  Object.assign(api, { session: '', left: Infinity });
  try {
    sessionStorage.removeItem(KEPT);
  } catch {
    // There was nothing.
  }
}

function greet() {
  who.textContent = `${nameOf(session).replace(/^b/, 'B')}, ${session.tier}, ${session.cluster}. Open until ${moment(session.expires_at)}. Times are those of ${zoneName()}.`;
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

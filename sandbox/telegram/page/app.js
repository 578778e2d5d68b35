// The page: holds what the sandbox told, and wires its parts together.

import { listen, loadState, post } from "./api.js";
import { byId, clock, el, icon, initials } from "./dom.js";
import { Composer } from "./composer.js";
import { Approvals } from "./approvals.js";
import { Epochs } from "./epochs.js";
import { Faucet } from "./faucet.js";
import { Log, summary } from "./log.js";
import { Mailbox } from "./mailbox.js";
import { Market } from "./market.js";
import { ask, toast } from "./notices.js";
import { Shop } from "./shop.js";
import { startTheme } from "./theme.js";

const patience = 15_000; // ms that a button spins at most

let bot = { first_name: "", username: "" };
let hasFaucet = false;
let hasApprovals = false;
let otherBot = null; // {name, path} of another bot of this sandbox
const people = new Map(); // id -> person, messages as a Map by id in order
let shown = null; // the person whose phone this is
let connected = false;
let epoch = null; // which process of the sandbox told what is shown
let opened = false; // this tab has picked its person
const typing = new Map(); // person id -> timer
const waiting = new Map(); // query id -> {message, row, col}
const early = new Map(); // query id -> toast that came before the tap's own answer

const log = new Log({ command: (text) => say(text), link: followLink, tap, reply: (message) => composer.replyTo(message) });
const composer = new Composer({
  say,
  contact: () => send("contact", {}),
  others: () => [...people.values()].filter((p) => p !== shown).map((p) => p.user),
  people: (request, user) => send("people", { request_id: request, user_id: user }),
});
const faucet = new Faucet({ say: (text) => say(text) });
const approvals = new Approvals();
const epochs = new Epochs();
const mailbox = new Mailbox();
const market = new Market();
const shop = new Shop({ as: () => shown.user.id, bought: () => faucet.fold() });
startTheme(byId("theme"));

// ---- what the person does

async function send(path, body) {
  try {
    await post(path, { as: shown.user.id, ...body });
    return true;
  } catch (error) {
    toast(error.message);
    return false;
  }
}

async function say(text, repliedTo = 0) {
  return send("say", { text, message_id: repliedTo });
}

async function tap(message, row, col) {
  log.spin(message.message_id, row, col, true);
  try {
    const { query_id: id } = await post("tap", { as: shown.user.id, message_id: message.message_id, row, col });
    const answer = early.get(id);
    if (answer) {
      early.delete(id);
      log.spin(message.message_id, row, col, false);
      return answered(answer);
    }
    waiting.set(id, { message: message.message_id, row, col });
    setTimeout(() => stopSpinning(id), patience);
  } catch (error) {
    log.spin(message.message_id, row, col, false);
    toast(error.message);
  }
}

// A link to the bot itself stays in the chat, as in the app.
function followLink(event, url) {
  const ours = url.hostname === "t.me" && url.pathname.slice(1).toLowerCase() === bot.username.toLowerCase();
  if (!ours) return;
  event.preventDefault();
  const payload = url.searchParams.get("start");
  say(payload ? `/start ${payload}` : "/start");
}

function choose(id) {
  if (shown?.user.id === id) return;
  shown = people.get(id);
  shop.switched();
  const url = new URL(location.href);
  url.searchParams.set("as", shown.user.username);
  history.replaceState(null, "", url);
  log.show(shown, bot);
  redraw();
  markRead();
}

function markRead() {
  const last = [...shown.messages.keys()].at(-1) ?? 0;
  if (document.visibilityState === "visible" && last > shown.read) {
    shown.read = last;
    post("read", { as: shown.user.id, message_id: last }).catch(() => {}); // shown again after a reload, no harm
    drawPeople();
  }
}

// ---- what the sandbox tells

function happened(e) {
  const person = people.get(e.chat);
  switch (e.kind) {
    case "message":
      if (!person) return;
      person.messages.set(e.message.message_id, e.message);
      if (!e.message.from?.is_bot) person.started = true;
      if (person === shown) log.put(e.message);
      break;
    case "gone":
      if (!person) return;
      person.messages.delete(e.message_id);
      if (person === shown) log.remove(e.message_id);
      break;
    case "keyboard":
      if (!person) return;
      person.keyboard = e.keyboard;
      composer.newKeyboard(e.chat);
      break;
    case "typing":
      setTyping(e.chat, e.action);
      return;
    case "toast":
      if (waiting.has(e.toast.query_id)) {
        stopSpinning(e.toast.query_id);
        answered(e.toast);
      } else if (e.toast.user === shown.user.id) {
        early.set(e.toast.query_id, e.toast);
        setTimeout(() => early.delete(e.toast.query_id), patience);
      }
      return;
    case "person":
      if (person) Object.assign(person, e.person, { read: Math.max(person.read, e.person.read) });
      break;
    case "mail":
      mailbox.fetch();
      return;
    case "profile":
      reload();
      return;
  }
  redraw();
  markRead();
}

function stopSpinning(id) {
  const at = waiting.get(id);
  waiting.delete(id);
  if (at) log.spin(at.message, at.row, at.col, false);
}

function answered({ text, alert, url }) {
  if (url) window.open(url, "_blank", "noopener,noreferrer");
  if (!text) return;
  if (alert) ask(text, [{ label: "OK", value: "", primary: true }]);
  else toast(text);
}

function setTyping(id, action) {
  clearTimeout(typing.get(id));
  typing.delete(id);
  if (action) typing.set(id, setTimeout(() => setTyping(id, ""), 5000));
  drawBar();
}

// ---- drawing

function redraw() {
  drawPeople();
  drawBar();
  composer.show(shown);
  const big = byId("big");
  big.hidden = shown.started && !shown.blocked;
  byId("composer").hidden = !big.hidden;
  if (!big.hidden) byId("keys").hidden = true;
  big.textContent = shown.blocked ? "Unblock the bot" : "Start";
  faucet.show(hasFaucet, shown);
  approvals.show(hasApprovals, shown);
}

function unread(person) {
  return [...person.messages.values()].filter((m) => m.from?.is_bot && m.message_id > person.read).length;
}

function preview(person) {
  const m = [...person.messages.values()].at(-1);
  if (!m) return "No messages yet";
  let body = m.text ?? m.caption ?? summary(m);
  for (const e of m.entities ?? m.caption_entities ?? []) {
    if (e.type === "spoiler") body = body.slice(0, e.offset) + "▒".repeat(e.length) + body.slice(e.offset + e.length);
  }
  return `${m.from?.is_bot ? "" : "You: "}${body.split("\n")[0]}`;
}

function drawPeople() {
  byId("people").replaceChildren(...[...people.values()].map((p) => {
    const news = unread(p);
    const last = [...p.messages.values()].at(-1);
    const existing = document.activeElement?.dataset?.person === String(p.user.id);
    const button = el("button", {
      type: "button", class: "person", "data-person": p.user.id, "aria-current": p === shown ? "true" : null,
      onclick: () => choose(p.user.id),
    },
    el("span", { class: `avatar ${p.user.username}`, "aria-hidden": "true" }, initials(p.user)),
    el("span", { class: "person-text" },
      el("span", { class: "person-name" }, el("b", {}, p.user.first_name), last && el("time", {}, clock(last.date))),
      el("span", { class: "person-last" }, el("span", { class: "preview" }, preview(p)),
        news > 0 && el("span", { class: "badge" }, String(news), el("span", { class: "hidden" }, " unread")))));
    if (existing) queueMicrotask(() => button.focus());
    return el("li", {}, button);
  }));
  const news = unread(shown);
  document.title = `${news ? `(${news}) ` : ""}${shown.user.first_name} · purser sandbox`;
}

function drawBar() {
  byId("bot-name").textContent = bot.first_name;
  byId("bot-avatar").textContent = bot.first_name.slice(0, 1).toUpperCase();
  const status = byId("bot-status");
  const busy = typing.has(shown.user.id);
  status.classList.toggle("typing", connected && busy);
  status.textContent = !connected ? "reconnecting …" : busy ? "typing" : `you are ${shown.user.first_name}`;
}

// ---- the chat's menu

const other = () => [...people.values()].find((p) => p !== shown) ?? shown;
const more = byId("more");
const menu = byId("more-menu");

function openMenu() {
  const item = (label, act) => el("button", { type: "button", role: "menuitem", onclick: () => { closeMenu(); act(); } }, label);
  menu.replaceChildren(
    item(`Open ${other().user.first_name}'s phone in a new tab`, () => window.open(`./?as=${other().user.username}`, "_blank", "noopener")),
    ...(otherBot ? [item(`Chat with ${otherBot.name}`, () => location.assign(`${otherBot.path}?as=${shown.user.username}`))] : []),
    item(shown.blocked ? "Unblock the bot" : "Block the bot", () => send("block", { blocked: !shown.blocked })),
  );
  menu.hidden = false;
  more.setAttribute("aria-expanded", "true");
  menu.firstElementChild.focus();
}

function closeMenu() {
  menu.hidden = true;
  more.setAttribute("aria-expanded", "false");
}

more.append(icon("more"));
more.addEventListener("click", () => (menu.hidden ? openMenu() : closeMenu()));
menu.addEventListener("keydown", (event) => {
  const items = [...menu.children];
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) {
    event.preventDefault();
    items[(items.indexOf(document.activeElement) + step + items.length) % items.length].focus();
  } else if (event.key === "Escape") {
    closeMenu();
    more.focus();
  } else if (event.key === "Tab") {
    closeMenu();
  }
});
document.addEventListener("click", (event) => {
  if (!menu.contains(event.target) && !more.contains(event.target)) closeMenu();
});

byId("big").addEventListener("click", () => {
  if (shown.blocked) send("block", { blocked: false });
  else say("/start").then(() => byId("text").focus());
});
document.addEventListener("visibilitychange", () => shown && markRead());

// ---- beginning, and beginning again

let stop = () => {};
let loading = false;

async function reload() {
  if (loading) return;
  loading = true;
  stop();
  let state;
  for (;;) {
    try {
      state = await loadState();
      break;
    } catch {
      connected = false;
      byId("bot-status").textContent = "the sandbox does not answer, trying again …";
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
  loading = false;
  bot = { ...state.bot, description: state.description };
  hasFaucet = state.faucet;
  hasApprovals = state.approvals;
  if (epoch !== state.epoch) faucet.forget(); // it may have begun anew
  epoch = state.epoch;
  faucet.offerToken(state.faucet_token);
  epochs.show(state.epochs);
  mailbox.show(state.mail);
  market.show(state.market);
  shop.show(state.shop ?? []);
  otherBot = state.other ?? null;
  people.clear();
  for (const p of state.people) {
    people.set(p.user.id, { ...p, messages: new Map(p.messages.map((m) => [m.message_id, m])) });
  }
  const wanted = opened && shown ? shown.user.username : new URL(location.href).searchParams.get("as");
  opened = true;
  shown = [...people.values()].find((p) => p.user.username === wanted?.toLowerCase()) ?? people.values().next().value;
  connected = true;
  log.show(shown, bot);
  redraw();
  markRead();
  stop = listen(state, {
    event: happened,
    reset: reload,
    status: (up) => {
      connected = up;
      drawBar();
    },
  });
}

reload();

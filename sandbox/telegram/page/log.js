// The messages of one chat: bubbles, buttons, pictures; added and replaced one by one.

import { byId, clock, day, el, icon } from "./dom.js";
import { fileURL } from "./api.js";
import { formatted } from "./text.js";
import { copy, viewPicture } from "./notices.js";

/** Keeps the log of the person who is shown. on: command(text), link(event, url), tap(message, row, col, button). */
export class Log {
  constructor(on) {
    this.on = on;
    this.node = byId("log");
    this.down = byId("down");
    this.unseen = 0;
    this.down.append(icon("down"), el("span", { class: "badge" }));
    this.down.addEventListener("click", () => this.toEnd("smooth"));
    this.follow = true; // stays at the end until the person scrolls up
    this.top = 0;
    this.node.addEventListener("scroll", () => this.scrolled(), { passive: true });
    new ResizeObserver(() => this.follow && this.toEnd()).observe(this.node);
  }

  scrolled() {
    const up = this.node.scrollTop < this.top - 2;
    this.top = this.node.scrollTop;
    if (this.atEnd()) {
      this.follow = true;
      this.seen(0);
    } else if (up) {
      this.follow = false;
    }
    this.down.hidden = this.follow;
  }

  /** Shows all of a person's messages. */
  show(person, bot) {
    this.person = person;
    this.bot = bot;
    this.node.setAttribute("aria-busy", "true"); // do not read the whole history out
    this.node.replaceChildren();
    const messages = [...person.messages.values()];
    if (messages.length === 0) this.node.append(this.greeting());
    for (const m of messages) this.node.append(this.bubble(m));
    this.arrange();
    this.toEnd();
    requestAnimationFrame(() => this.node.removeAttribute("aria-busy"));
  }

  greeting() {
    return el("div", { class: "greeting" },
      el("h3", {}, "What can this bot do?"),
      el("p", {}, this.bot.description || `${this.bot.first_name} has not said yet. Press Start to meet it.`));
  }

  /** Adds or replaces one message. */
  put(message) {
    const old = this.find(message.message_id);
    const node = this.bubble(message);
    this.node.querySelector(".greeting")?.remove();
    if (old) {
      const focused = document.activeElement && old.contains(document.activeElement) ? document.activeElement.textContent : null;
      old.replaceWith(node);
      if (focused !== null) [...node.querySelectorAll("button, a")].find((b) => b.textContent === focused)?.focus();
    } else {
      node.classList.add("fresh");
      this.node.append(node);
    }
    this.arrange();
    if (this.follow || (message.from && !message.from.is_bot && !old)) this.toEnd(this.near() ? "smooth" : "instant");
    else if (!old) this.seen(this.unseen + 1);
  }

  remove(id) {
    this.find(id)?.remove();
    if (!this.node.querySelector(".message")) this.node.replaceChildren(this.greeting());
    this.arrange();
  }

  find(id) {
    return this.node.querySelector(`[data-id="${Number(id)}"]`);
  }

  /** Marks the button that waits for its answer. */
  spin(messageId, row, col, on) {
    const button = this.find(messageId)?.querySelector(`[data-at="${row}.${col}"]`);
    button?.classList.toggle("waiting", on);
    if (on) button?.setAttribute("aria-busy", "true");
    else button?.removeAttribute("aria-busy");
  }

  atEnd() {
    return this.left() < 24;
  }

  // Close enough to glide there; farther would be a long ride.
  near() {
    return this.left() < 2 * this.node.clientHeight;
  }

  left() {
    return this.node.scrollHeight - this.node.scrollTop - this.node.clientHeight;
  }

  toEnd(behavior = "instant") {
    this.follow = true;
    this.top = this.node.scrollTop;
    this.node.scrollTo({ top: this.node.scrollHeight, behavior });
    this.down.hidden = true;
    this.seen(0);
  }

  seen(unseen) {
    this.unseen = unseen;
    this.down.setAttribute("aria-label", unseen ? `${unseen} new, go to the end` : "Go to the end");
    this.down.querySelector(".badge").textContent = unseen || "";
  }

  // Days between messages, and tails on the last of each run by one author.
  arrange() {
    for (const d of this.node.querySelectorAll(".day")) d.remove();
    let before = null;
    for (const node of this.node.querySelectorAll(".message")) {
      const date = Number(node.dataset.date);
      const newDay = !before || day(date) !== day(Number(before.dataset.date));
      if (newDay) node.before(el("p", { class: "day" }, el("span", {}, day(date))));
      const run = before && !newDay && before.dataset.from === node.dataset.from && date - Number(before.dataset.date) < 300;
      node.classList.toggle("run", Boolean(run));
      node.classList.add("tail");
      if (run) before.classList.remove("tail");
      before = node;
    }
  }

  bubble(m) {
    const own = !m.from?.is_bot;
    const text = m.text ?? m.caption ?? "";
    const entities = m.text ? m.entities : m.caption_entities;
    const author = own ? m.from.first_name : this.bot.first_name;
    const meta = el("span", { class: "meta" }, m.edit_date ? "edited " : "", el("time", { datetime: new Date(m.date * 1000).toISOString() }, clock(m.date)));
    const body = el("div", { class: "bubble" },
      m.forward_origin && el("p", { class: "forwarded" }, `Forwarded from ${m.forward_origin.sender_user?.first_name ?? "somebody"}`),
      m.reply_to_message && this.quote(m.reply_to_message),
      m.photo && this.photo(m),
      m.document && el("a", { class: "document", href: fileURL(m.document.file_id), download: m.document.file_name ?? "file" },
        icon("file"), el("span", {}, el("b", {}, m.document.file_name ?? "file"), el("small", {}, size(m.document.file_size)))),
      m.video && el("a", { class: "document", href: fileURL(m.video.file_id), download: m.video.file_name ?? "video" },
        icon("file"), el("span", {}, el("b", {}, m.video.file_name ?? "Video"), el("small", {}, size(m.video.file_size)))),
      m.location && el("div", { class: "text" }, `Location: ${m.location.latitude}, ${m.location.longitude}`),
      m.dice && el("div", { class: "text" }, `${m.dice.emoji} ${m.dice.value}`),
      m.poll && poll(m.poll),
      m.pinned_message && el("div", { class: "text" }, `Pinned: ${summary(m.pinned_message)}`),
      m.contact && el("div", { class: "contact" }, el("span", { class: "avatar" }, icon("person")),
        el("span", {}, el("b", {}, [m.contact.first_name, m.contact.last_name].filter(Boolean).join(" ")), el("small", {}, m.contact.phone_number))),
      m.users_shared && el("div", { class: "text" }, "You chose a person for the bot."),
      text ? el("div", { class: "text" }, formatted(text, entities, this.on), meta) : meta,
    );
    return el("article", {
      class: `message ${own ? "own" : "theirs"}${m.photo ? " with-photo" : ""}`,
      "data-id": m.message_id, "data-date": m.date, "data-from": m.from?.id ?? 0,
      "aria-label": `${author}, ${clock(m.date)}${m.edit_date ? ", edited" : ""}`,
    }, body,
    this.on.reply && !own && el("button", { type: "button", class: "reply", "aria-label": "Reply", title: "Reply", onclick: () => this.on.reply(m) }, icon("reply")),
    m.reply_markup && this.buttons(m));
  }

  quote(m) {
    const body = summary(m);
    return el("button", { type: "button", class: "quote", onclick: () => this.find(m.message_id)?.scrollIntoView({ block: "center", behavior: "smooth" }) },
      el("b", {}, m.from?.is_bot ? this.bot.first_name : m.from?.first_name ?? ""), el("span", {}, body));
  }

  photo(m) {
    const p = m.photo.at(-1);
    const alt = m.caption ? `Photo: ${m.caption.split("\n")[0]}` : "Photo";
    const src = fileURL(p.file_id);
    return el("button", { type: "button", class: "photo", "aria-label": `${alt}. Show it large`, onclick: () => viewPicture(src, alt) },
      el("img", { src, alt, width: p.width, height: p.height, loading: "lazy" }));
  }

  buttons(m) {
    return el("div", { class: "buttons", role: "group", "aria-label": "Buttons" }, m.reply_markup.inline_keyboard.map((row, r) =>
      el("div", { class: "button-row" }, row.map((b, c) => {
        const style = b.style ? ` ${b.style}` : "";
        if (b.url) {
          return el("a", { class: `button${style}`, href: b.url, target: "_blank", rel: "noopener noreferrer", "data-at": `${r}.${c}`, onclick: (e) => this.on.link(e, new URL(b.url)) },
            el("span", {}, b.text), icon("out"), el("span", { class: "hidden" }, " (opens a new tab)"));
        }
        if (b.copy_text) {
          return el("button", { type: "button", class: `button${style}`, "data-at": `${r}.${c}`, onclick: () => copy(b.copy_text.text) }, el("span", {}, b.text), icon("copy"));
        }
        return el("button", { type: "button", class: `button${style}`, "data-at": `${r}.${c}`, onclick: () => this.on.tap(m, r, c) }, el("span", {}, b.text));
      }))));
  }
}

/** The first line of a message, or what kind it is. */
export function summary(m) {
  const text = m.text ?? m.caption;
  if (text) return text.split("\n")[0];
  const kinds = { photo: "Photo", video: "Video", document: "File", contact: "Contact", users_shared: "A person", location: "Location", dice: "Dice", poll: "Poll", pinned_message: "Pinned message" };
  return Object.entries(kinds).find(([field]) => m[field])?.[1] ?? "Message";
}

function poll(p) {
  return el("div", { class: "text" }, el("b", {}, p.question), el("ul", {}, p.options.map((o) => el("li", {}, o.text))),
    p.is_closed ? "This poll is closed." : "Nobody can vote in the sandbox.");
}

function size(bytes = 0) {
  return bytes < 1024 ? `${bytes} B` : bytes < 1024 * 1024 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

// What a person writes with: the text field, the command menu, the bot's keyboard.

import { byId, el, icon } from "./dom.js";
import { summary } from "./log.js";
import { ask } from "./notices.js";

/** on: say(text, id of the message that it answers or 0), contact(), others() who can be chosen, people(request, user). Call show(person) whenever the person or their keyboard changes. */
export class Composer {
  constructor(on) {
    this.on = on;
    this.text = byId("text");
    this.list = byId("commands");
    this.keys = byId("keys");
    this.toggle = byId("keys-toggle");
    this.menu = byId("menu");
    this.drafts = new Map();
    this.folded = new Set(); // people who have put the present keyboard away
    this.choice = -1;
    byId("send").append(icon("send"));
    this.toggle.append(icon("keys"));
    byId("replying-end").append(icon("close"));
    byId("replying-end").addEventListener("click", () => this.replyTo(null));
    byId("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    this.text.addEventListener("input", () => this.typed());
    this.text.addEventListener("keydown", (event) => this.key(event));
    this.text.addEventListener("blur", () => this.hideCommands());
    this.list.addEventListener("scroll", () => this.fade(), { passive: true });
    new ResizeObserver(() => this.fade()).observe(this.list); // a phone's keyboard comes and goes
    this.menu.addEventListener("pointerdown", (event) => event.preventDefault()); // keep the focus in the text field
    this.menu.addEventListener("click", () => {
      if (!this.list.hidden) return this.hideCommands();
      this.showCommands("");
      this.text.focus();
    });
    this.toggle.addEventListener("click", () => {
      const id = this.person.user.id;
      if (!this.folded.delete(id)) this.folded.add(id);
      this.showKeys();
    });
  }

  show(person) {
    if (this.person?.user.id !== person.user.id) {
      if (this.person) this.drafts.set(this.person.user.id, this.text.value);
      this.text.value = this.drafts.get(person.user.id) ?? "";
      this.replyTo(null);
      this.hideCommands();
    }
    this.person = person;
    this.menu.hidden = person.commands.length === 0;
    this.showKeys();
    this.fit();
  }

  /** A new keyboard from the bot is always shown. */
  newKeyboard(personId) {
    this.folded.delete(personId);
  }

  /** What is written next answers this message; null for none. */
  replyTo(message) {
    this.replied = message?.message_id ?? 0;
    byId("replying").hidden = message === null;
    byId("replying-to").textContent = message ? summary(message) : "";
    if (message) this.text.focus();
  }

  async submit() {
    const text = this.text.value;
    if (text.trim() === "") return;
    const replied = this.replied;
    this.replyTo(null);
    this.text.value = "";
    this.fit();
    this.hideCommands();
    this.text.focus();
    if (!(await this.on.say(text, replied)) && this.text.value === "") this.text.value = text;
  }

  typed() {
    this.fit();
    const command = /^\/(\w*)$/.exec(this.text.value);
    if (command && this.person.commands.length > 0) this.showCommands(command[1]);
    else this.hideCommands();
  }

  key(event) {
    if (event.isComposing) return;
    const open = !this.list.hidden;
    const options = [...this.list.children];
    if (open && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      this.choose((this.choice + (event.key === "ArrowDown" ? 1 : -1) + options.length) % options.length);
    } else if (open && event.key === "Tab" && !event.shiftKey) {
      event.preventDefault();
      this.text.value = `/${options[Math.max(this.choice, 0)].dataset.command} `;
      this.hideCommands();
    } else if (open && event.key === "Escape") {
      event.preventDefault();
      this.hideCommands();
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      if (open && this.choice >= 0) options[this.choice].click();
      else this.submit();
    }
  }

  // As many lines as the text has, up to seven.
  fit() {
    this.text.style.height = "auto";
    this.text.style.height = `${Math.min(this.text.scrollHeight, 176)}px`;
    byId("send").classList.toggle("ready", this.text.value.trim() !== "");
  }

  showCommands(prefix) {
    const found = this.person.commands.filter((c) => c.command.startsWith(prefix.toLowerCase()));
    if (found.length === 0) return this.hideCommands();
    this.list.replaceChildren(...found.map((c, i) =>
      el("li", {
        id: `command-${i}`, role: "option", "aria-selected": "false", "data-command": c.command,
        onpointerdown: (event) => event.preventDefault(), // keep the focus in the text field
        onclick: () => {
          this.text.value = "";
          this.fit();
          this.hideCommands();
          this.on.say(`/${c.command}`);
          this.text.focus();
        },
      }, el("b", {}, `/${c.command}`), el("span", {}, c.description))));
    this.list.hidden = false;
    this.list.scrollTop = 0;
    this.fade();
    this.menu.setAttribute("aria-expanded", "true");
    this.choose(-1);
  }

  /** While there is more below, the list's end fades. */
  fade() {
    const { scrollHeight, scrollTop, clientHeight } = this.list;
    this.list.classList.toggle("more", scrollHeight - scrollTop - clientHeight > 4);
  }

  hideCommands() {
    this.list.hidden = true;
    this.choice = -1;
    this.menu.setAttribute("aria-expanded", "false");
    this.text.removeAttribute("aria-activedescendant");
  }

  choose(i) {
    this.choice = i;
    [...this.list.children].forEach((li, n) => li.setAttribute("aria-selected", String(n === i)));
    if (i < 0) return this.text.removeAttribute("aria-activedescendant");
    this.text.setAttribute("aria-activedescendant", `command-${i}`);
    this.list.children[i].scrollIntoView({ block: "nearest" });
  }

  showKeys() {
    const board = this.person.keyboard;
    const rows = board?.keyboard ?? [];
    const shown = rows.length > 0 && !this.folded.has(this.person.user.id);
    this.text.placeholder = board?.input_field_placeholder || "Message";
    this.toggle.hidden = rows.length === 0;
    this.toggle.setAttribute("aria-expanded", String(shown));
    this.toggle.setAttribute("aria-label", shown ? "Hide the bot's keyboard" : "Show the bot's keyboard");
    this.keys.hidden = !shown;
    this.keys.classList.toggle("compact", Boolean(board?.resize_keyboard));
    this.keys.replaceChildren(...rows.map((row) =>
      el("div", { class: "button-row" }, row.map((k) =>
        el("button", { type: "button", class: "key", onclick: () => this.press(k, board) }, (k.request_contact || k.request_users) && icon("person"), k.text)))));
  }

  async press(key, board) {
    if (key.request_contact) {
      const answer = await ask("Share your phone number with this bot?", [
        { label: "Cancel", value: "" },
        { label: "Share", value: "share", primary: true },
      ]);
      if (answer !== "share") return;
    }
    let chosen = "";
    if (key.request_users) {
      chosen = await ask("Choose a person. The bot is told who they are.", [
        { label: "Cancel", value: "" },
        ...this.on.others().map((user) => ({ label: user.first_name, value: String(user.id), primary: true })),
      ]);
      if (chosen === "") return;
    }
    if (board.one_time_keyboard) {
      this.folded.add(this.person.user.id);
      this.showKeys();
    }
    if (key.request_contact) this.on.contact();
    else if (key.request_users) this.on.people(key.request_users.request_id, Number(chosen));
    else this.on.say(key.text);
  }
}

// The mail box: what the sandbox's own mail server took in. It is no part of Telegram, and says so.

import { loadMails } from "./api.js";
import { byId, clock, el } from "./dom.js";

export class Mailbox {
  constructor() {
    this.panel = byId("mailbox");
    this.list = byId("mails");
    this.count = byId("mail-count");
  }

  /** Whether there is a mail server; its mails are fetched if so. */
  async show(exists) {
    this.panel.hidden = !exists;
    if (exists) await this.fetch();
  }

  async fetch() {
    const mails = await loadMails();
    if (mails === null) return;
    this.count.textContent = mails.length === 0 ? "" : String(mails.length);
    this.list.replaceChildren(...mails.map((m) =>
      el("li", {},
        el("b", {}, m.subject), " ", el("small", {}, `to ${m.to}, ${clock(m.at)}`),
        el("p", {}, m.text))));
    if (mails.length === 0) this.list.append(el("li", { class: "none" }, "No mail yet."));
  }
}

// The shop: something to pay for at once. It is no part of Telegram, and says so with the faucet.

import { post } from "./api.js";
import { byId, el } from "./dom.js";

const interval = 1000; // ms between two looks at an order
const patience = 15 * 60_000; // ms; the bot ends an unconfirmed payment long before

export class Shop {
  /** on.as() is the id of the person who buys; on.bought() is called when a link stands in the chat. */
  constructor(on) {
    this.on = on;
    this.panel = byId("shop");
    this.status = byId("shop-status");
    this.order = ""; // the reference that is looked after: the newest
    this.said = new Map(); // id of a person -> [text, kind] of their newest order
  }

  /** Another person holds the phone: the status is theirs. */
  switched() {
    this.draw();
  }

  /** Offers the items; none means that there is no shop. */
  show(items) {
    this.panel.hidden = items.length === 0;
    byId("shop-items").replaceChildren(...items.map((item) =>
      el("li", {}, el("span", {}, item.name), el("b", {}, item.price),
        el("button", { type: "button", class: "primary", "aria-label": `Buy ${item.name} for ${item.price}`, onclick: (event) => this.buy(item, event.target) }, "Buy"))));
  }

  async buy(item, button) {
    button.disabled = true;
    const who = this.on.as();
    try {
      const { reference } = await post("buy", { as: this.on.as(), item: item.id });
      this.say(who, `${item.name}: waiting for your payment …`);
      this.order = reference;
      this.on.bought();
      this.watch(who, reference, item, Date.now() + patience);
    } catch (error) {
      this.say(who, error.message, "bad");
    }
    button.disabled = false;
  }

  async watch(who, reference, item, until) {
    while (this.order === reference && Date.now() < until) {
      try {
        const { paid } = await post("paid", { reference });
        if (paid && this.order === reference) {
          this.order = "";
          return this.say(who, `${item.name}: paid. Thank you!`, "good");
        }
      } catch (error) {
        if (this.order === reference) this.say(who, error.message, "bad");
      }
      await new Promise((resolve) => setTimeout(resolve, interval));
    }
    if (this.order === reference) this.say(who, `${item.name}: no payment came.`);
  }

  say(who, text, kind = "") {
    this.said.set(who, [text, kind]);
    this.draw();
  }

  draw() {
    const [text, kind] = this.said.get(this.on.as()) ?? ["", ""];
    this.status.textContent = text;
    this.status.className = `status ${kind}`;
  }
}

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
    this.orders = new Map(); // id of a person -> the reference of their newest order, while it waits for payment
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
      const { reference } = await post("buy", { as: who, item: item.id });
      this.say(who, `${item.name}: waiting for your payment …`);
      this.orders.set(who, reference);
      this.on.bought();
      this.watch(who, reference, item, Date.now() + patience);
    } catch (error) {
      this.say(who, error.message, "bad");
    }
    button.disabled = false;
  }

  // Older orders are watched too: whichever link is paid in the chat, the shop says so. Only the newest says what went wrong.
  async watch(who, reference, item, until) {
    const newest = () => this.orders.get(who) === reference;
    while (Date.now() < until) {
      try {
        const { paid } = await post("paid", { reference });
        if (paid) {
          if (newest()) this.orders.delete(who);
          return this.say(who, `${item.name}: paid. Thank you!`, "good");
        }
      } catch (error) {
        if (newest()) this.say(who, error.message, "bad");
      }
      await new Promise((resolve) => setTimeout(resolve, interval));
    }
    if (newest()) this.say(who, `${item.name}: no payment came.`);
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

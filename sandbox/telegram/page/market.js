// Prices of the sandbox's own market and how it quotes swaps, with controls for both. They are no part of Telegram.

import { loadMarket, post } from "./api.js";
import { byId, el } from "./dom.js";

const interval = 5000; // ms between two looks at prices that somebody looks at

const dollars = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", maximumSignificantDigits: 6 });

export class Market {
  constructor() {
    this.panel = byId("market");
    this.list = byId("market-tokens");
    this.status = byId("market-status");
    this.quotes = byId("market-quotes");
    this.quotes.addEventListener("change", () => this.quote());
    this.rows = new Map(); // mint -> its elements
    this.chosen = null; // mint of the token with controls
    this.quoting = false; // a choice of quotes is on its way: what a look says of it is older
    this.timer = null;
    this.panel.addEventListener("toggle", () => this.look());
    document.addEventListener("visibilitychange", () => this.look());
  }

  show(exists) {
    this.panel.hidden = !exists;
    this.look();
  }

  /** Keeps prices fresh while somebody sees them. */
  async look() {
    clearTimeout(this.timer);
    if (this.panel.hidden || !this.panel.open || document.visibilityState !== "visible") return;
    const state = await loadMarket();
    if (state) this.draw(state);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.look(), interval);
  }

  /** Rows stay as they are, with the focus and what is typed there; only their numbers change. */
  draw({ prices, quotes }) {
    if (document.activeElement !== this.quotes && !this.quoting) this.quotes.value = quotes;
    for (const token of prices) {
      if (!this.rows.has(token.mint)) this.add(token);
      const row = this.rows.get(token.mint);
      row.price.textContent = token.price ? dollars.format(Number(token.price)) : "no price";
      row.change.textContent = token.change ? `${token.change.replace("-", "−")}%` : "";
      row.change.className = `change ${token.change.startsWith("-") ? "bad" : token.change.startsWith("+") ? "good" : ""}`;
      for (const button of row.moves) button.disabled = !token.price;
    }
  }

  add(token) {
    const price = el("b");
    const change = el("span");
    // Tokens may share a symbol: what tells them apart is verification and the mint.
    const mint = el("span", { class: "token-mint" }, `${token.mint.slice(0, 4)}…${token.mint.slice(-4)}`);
    const about = token.verified ? [token.name] : [`${token.name}, unverified, `, mint];
    const id = `market-${token.mint}`;
    const button = el("button", { type: "button", class: "token", "aria-expanded": "false", "aria-controls": id, onclick: () => this.choose(token.mint) },
      el("span", { class: "token-name" }, el("b", {}, token.symbol), el("span", {}, about)),
      el("span", { class: "token-price" }, price, change));
    const input = el("input", { name: "price", inputmode: "decimal", autocomplete: "off", placeholder: "Dollars", "aria-label": `New price of ${token.symbol} in dollars` });
    const moves = [-10, 10].map((percent) => el("button", {
      type: "button", class: "pill", "aria-label": `${token.symbol} ${percent > 0 ? "up" : "down"} 10 percent`, onclick: () => this.change(token, { percent }),
    }, `${percent > 0 ? "+" : "−"}10%`));
    const controls = el("form", { id, class: "token-controls", hidden: true, novalidate: true, onsubmit: (event) => {
      event.preventDefault();
      this.change(token, { price: input.value });
    } }, input, el("button", { type: "submit", class: "pill" }, "Set price"), moves);
    const item = el("li", {}, button, controls);
    this.rows.set(token.mint, { item, button, price, change, controls, input, moves });
    this.list.append(item);
  }

  /** One token at a time has controls. */
  choose(mint) {
    this.chosen = this.chosen === mint ? null : mint;
    for (const [each, row] of this.rows) {
      row.controls.hidden = each !== this.chosen;
      if (each === this.chosen) row.item.append(this.status); // what happened stands where the person looks
      row.button.setAttribute("aria-expanded", String(each === this.chosen));
    }
    this.say("");
  }

  async change(token, how) {
    const row = this.rows.get(token.mint);
    try {
      this.draw(await post("price", { mint: token.mint, ...how }));
      row.input.value = "";
      this.say(`${token.symbol} is now ${row.price.textContent}.`, "good");
    } catch (error) {
      this.say(error.message, "bad");
    }
  }

  async quote() {
    this.panel.append(this.status);
    const { value, textContent } = this.quotes.selectedOptions[0];
    this.quoting = true;
    try {
      await post("quotes", { quotes: value });
      this.say(`Swaps: ${textContent}.`, "good");
    } catch (error) {
      this.say(error.message, "bad");
    } finally {
      this.quoting = false;
    }
  }

  say(text, kind = "") {
    this.status.textContent = text;
    this.status.className = `status ${kind}`;
  }
}

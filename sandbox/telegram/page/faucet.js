// The faucet: test SOL and test USDC from the sandbox's own Solana. It is no part of Telegram, and says so.

import { byId, icon } from "./dom.js";
import { post } from "./api.js";
import { ownAddress } from "./own.js";

const usual = "5"; // the choice of somebody who has not chosen yet

export class Faucet {
  /** on.say(text) writes into the chat of the person who is shown. */
  constructor(on) {
    this.panel = byId("faucet");
    this.open = byId("faucet-open");
    this.address = byId("faucet-address");
    this.status = byId("faucet-status");
    this.hint = byId("faucet-hint");
    this.person = null; // who is shown
    this.own = ""; // their address, as far as the bot has told it
    this.typed = false; // since the last switch to another person
    this.choices = new Map(); // id of a person -> the value of their choice
    this.said = new Map(); // id of a person -> [text, kind] of their newest answer
    this.address.addEventListener("input", () => {
      this.typed = true;
      this.advise();
    });
    this.panel.addEventListener("change", (event) => {
      if (event.target.name === "sol") this.choices.set(this.person.user.id, event.target.value);
      this.label();
    });
    byId("faucet-create").addEventListener("click", () => {
      this.fold();
      on.say("/wallet new");
    });
    byId("faucet-close").append(icon("close"));
    byId("faucet-close").addEventListener("click", () => this.setOpen(false));
    this.open.addEventListener("click", () => this.setOpen(!this.panel.classList.contains("open")));
    this.panel.addEventListener("keydown", (event) => event.key === "Escape" && this.setOpen(false));
    byId("faucet-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.give(new FormData(event.target));
    });
  }

  /**
   * Shows what belongs to this person: their choice, their newest answer, and their own address or nothing, until they
   * type another one.
   */
  show(exists, person) {
    this.panel.hidden = !exists;
    this.open.hidden = !exists;
    const another = this.person?.user.id !== person.user.id;
    this.person = person;
    if (another) {
      this.typed = false; // what was typed by hand was not meant for them
      this.choose(this.choices.get(person.user.id) ?? usual);
      this.draw();
    }
    this.own = ownAddress(person.messages.values());
    if (this.address.value === "" && document.activeElement !== this.address) this.typed = false; // emptied and left
    if (!this.typed) this.address.value = this.own;
    this.advise();
  }

  /** Somebody without a wallet is told how to get an address. */
  advise() {
    this.hint.hidden = this.own !== "" || this.address.value.trim() !== "";
    byId("faucet-hint-text").textContent =
      `${this.person.user.first_name} has no wallet in this chat yet. Create one, and its address appears here. Or paste any address.`;
  }

  /** Whether this faucet has test USDC as well. */
  offerToken(exists) {
    const choice = byId("faucet-token");
    choice.hidden = !exists;
    if (!exists && choice.querySelector("input").checked) this.choose(usual);
    this.label();
  }

  choose(value) {
    const choice = this.panel.querySelector(`[name='sol'][value='${value}']`);
    (choice.closest("label").hidden ? this.panel.querySelector(`[value='${usual}']`) : choice).checked = true;
    this.label();
  }

  /** Title and button name what is chosen. */
  label() {
    const name = `Get test ${this.isToken() ? "USDC" : "SOL"}`;
    byId("faucet-title").textContent = name;
    this.panel.querySelector("[type='submit']").textContent = name;
  }

  isToken() {
    return byId("faucet-token").querySelector("input").checked;
  }

  /** Another world: what was typed, chosen and answered was about people of the last one. */
  forget() {
    this.person = null;
    this.address.value = "";
    this.choices.clear();
    this.said.clear();
  }

  /** On phones: out of the way of the chat. */
  fold() {
    if (this.panel.classList.contains("open")) this.setOpen(false);
  }

  setOpen(open) { // on phones, where the panel is a sheet
    this.panel.classList.toggle("open", open);
    this.open.setAttribute("aria-expanded", String(open));
    (open ? this.address : this.open).focus();
  }

  async give(form) {
    const button = this.panel.querySelector("[type='submit']");
    const who = this.person.user;
    const { own } = this;
    const token = this.isToken();
    const amount = token ? { usdc: 100 } : { sol: Number(form.get("sol")) };
    const address = String(form.get("address")).trim();
    if (address === "") return this.say(who, "The address is missing.", "bad");
    button.disabled = true;
    this.say(who, "Asking the faucet …");
    try {
      await post("faucet", { address, ...amount });
      const gift = `${token ? "100 USDC" : `${amount.sol} SOL`} went to ${address.slice(0, 4)}…${address.slice(-4)}`;
      const where = address === own ? `, ${who.first_name}'s wallet. Send /wallet balance in the chat to see it there.`
        : own === "" ? "." : `. /wallet balance in this chat shows another address: ${who.first_name}'s own.`;
      this.say(who, gift + where, "good");
    } catch (error) {
      this.say(who, error.message, "bad");
    }
    button.disabled = false;
  }

  say(who, text, kind = "") {
    this.said.set(who.id, [text, kind]);
    this.draw();
  }

  draw() {
    const [text, kind] = this.said.get(this.person?.user.id) ?? ["", ""];
    this.status.textContent = text;
    this.status.className = `status ${kind}`;
  }
}

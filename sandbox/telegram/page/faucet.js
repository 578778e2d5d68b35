// The faucet: test SOL and test USDC from the sandbox's own Solana. It is no part of Telegram, and says so.

import { byId, icon } from "./dom.js";
import { post } from "./api.js";
import { ownAddress } from "./own.js";

export class Faucet {
  constructor() {
    this.panel = byId("faucet");
    this.open = byId("faucet-open");
    this.address = byId("faucet-address");
    this.status = byId("faucet-status");
    this.typed = false; // since the last switch to another person
    this.address.addEventListener("input", () => { this.typed = true; });
    this.panel.addEventListener("change", () => this.label());
    byId("faucet-close").append(icon("close"));
    byId("faucet-close").addEventListener("click", () => this.setOpen(false));
    this.open.addEventListener("click", () => this.setOpen(!this.panel.classList.contains("open")));
    this.panel.addEventListener("keydown", (event) => event.key === "Escape" && this.setOpen(false));
    byId("faucet-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.give(new FormData(event.target));
    });
  }

  /** The field holds the person's own address, or nothing, until they type another one. */
  show(exists, person) {
    this.panel.hidden = !exists;
    this.open.hidden = !exists;
    if (this.address.value === "" && document.activeElement !== this.address) this.typed = false; // emptied and left
    if (!this.typed) this.address.value = ownAddress(person.messages.values());
  }

  /** Whether this faucet has test USDC as well. */
  offerToken(exists) {
    const choice = byId("faucet-token");
    choice.hidden = !exists;
    if (!exists && choice.querySelector("input").checked) this.panel.querySelector("[value='5']").checked = true;
    this.label();
  }

  /** Title and button name what is chosen. */
  label() {
    const name = `Get test ${this.isToken() ? "USDC" : "SOL"}`;
    byId("faucet-title").textContent = name;
    this.panel.querySelector(".primary").textContent = name;
  }

  isToken() {
    return byId("faucet-token").querySelector("input").checked;
  }

  /** Another person, or another world: what was typed by hand was not meant for them. */
  forget() {
    this.address.value = "";
    this.typed = false;
    this.say("");
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
    const button = this.panel.querySelector(".primary");
    const token = this.isToken();
    const amount = token ? { usdc: 100 } : { sol: Number(form.get("sol")) };
    const address = String(form.get("address")).trim();
    button.disabled = true;
    this.say("Asking the faucet …");
    try {
      await post("faucet", { address, ...amount });
      this.say(`${token ? "100 USDC" : `${amount.sol} SOL`} went to ${address.slice(0, 4)}…${address.slice(-4)}.`, "good");
    } catch (error) {
      this.say(error.message, "bad");
    }
    button.disabled = false;
  }

  say(text, kind = "") {
    this.status.textContent = text;
    this.status.className = `status ${kind}`;
  }
}

// The faucet: test SOL and test USDC from the sandbox's own Solana. It is no part of Telegram, and says so.

import { byId, icon } from "./dom.js";
import { post } from "./api.js";
import { ownAddress } from "./text.js";

export class Faucet {
  constructor() {
    this.panel = byId("faucet");
    this.open = byId("faucet-open");
    this.address = byId("faucet-address");
    this.status = byId("faucet-status");
    this.proposed = "";
    byId("faucet-close").append(icon("close"));
    byId("faucet-close").addEventListener("click", () => this.setOpen(false));
    this.open.addEventListener("click", () => this.setOpen(!this.panel.classList.contains("open")));
    this.panel.addEventListener("keydown", (event) => event.key === "Escape" && this.setOpen(false));
    byId("faucet-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.give(new FormData(event.target));
    });
  }

  show(exists, person) {
    this.panel.hidden = !exists;
    this.open.hidden = !exists;
    const address = ownAddress(person.messages.values());
    if (address && (this.address.value === "" || this.address.value === this.proposed)) {
      this.address.value = address;
      this.proposed = address;
    }
  }

  /** Whether this faucet has test USDC as well. */
  offerToken(exists) {
    byId("faucet-token").hidden = !exists;
  }

  /** Another person's addresses are proposed from now on. */
  forget() {
    if (this.address.value === this.proposed) this.address.value = "";
    this.status.textContent = "";
  }

  setOpen(open) { // on phones, where the panel is a sheet
    this.panel.classList.toggle("open", open);
    this.open.setAttribute("aria-expanded", String(open));
    (open ? this.address : this.open).focus();
  }

  async give(form) {
    const button = this.panel.querySelector(".primary");
    const token = form.get("sol") === "USDC";
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

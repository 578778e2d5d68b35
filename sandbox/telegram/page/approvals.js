// The button that plants an approval: a stranger may then spend USDC of the address in the faucet's field, until /revoke ends it.

import { byId } from "./dom.js";
import { post } from "./api.js";

export class Approvals {
  constructor() {
    this.panel = byId("approval");
    this.button = byId("approval-plant");
    this.status = byId("approval-status");
    this.person = null; // id of who is shown
    this.button.addEventListener("click", () => this.plant(byId("faucet-address").value.trim()));
  }

  /** An answer to one person is not shown to another. */
  show(exists, person) {
    this.panel.hidden = !exists;
    if (this.person !== person.user.id) this.say("");
    this.person = person.user.id;
  }

  async plant(address) {
    if (address === "") return this.say("The address above is missing.", "bad");
    const who = this.person;
    this.button.disabled = true;
    this.say("");
    try {
      const { delegate } = await post("approval", { address });
      if (who === this.person) this.say(`${delegate.slice(0, 4)}…${delegate.slice(-4)} may now spend USDC of ${address.slice(0, 4)}…${address.slice(-4)}. Send /revoke in the chat.`, "good");
    } catch (error) {
      if (who === this.person) this.say(error.message, "bad");
    }
    this.button.disabled = false;
  }

  say(text, kind = "") {
    this.status.textContent = text;
    this.status.className = `status ${kind}`;
  }
}

// The button that begins the next epoch of the sandbox's own Solana, so that nobody has to wait for a stake to change.

import { byId } from "./dom.js";
import { post } from "./api.js";

export class Epochs {
  constructor() {
    this.panel = byId("epoch");
    this.button = byId("epoch-next");
    this.status = byId("epoch-status");
    this.button.addEventListener("click", () => this.next());
  }

  show(exists) {
    this.panel.hidden = !exists;
  }

  async next() {
    this.button.disabled = true;
    this.say("");
    try {
      const { epoch } = await post("epoch", {});
      this.say(`Epoch ${epoch} has begun.`, "good");
    } catch (error) {
      this.say(error.message, "bad");
    }
    this.button.disabled = false;
  }

  say(text, kind = "") {
    this.status.textContent = text;
    this.status.className = `status ${kind}`;
  }
}

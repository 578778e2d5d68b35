// The chat page in a person's hands: says, hears, taps. Knows how the page shows a chat, and nothing
// of what is talked about.

import { readFile } from 'node:fs/promises';

/** One person's chat in one tab. */
export class Chat {
  #heard = 0; // id of the newest message when the person last did something

  constructor(tab, person) {
    this.tab = tab;
    this.person = person;
  }

  static async open(context, url, person) {
    const tab = await context.newPage();
    await tab.goto(`${url}/?as=${person}`);
    const chat = new Chat(tab, person);
    await chat.connected();
    return chat;
  }

  /** Waits until the page is in touch with the sandbox. */
  async connected() {
    await this.tab.locator('#bot-status').filter({ hasText: /^you are/ }).waitFor();
  }

  async #newest() {
    const ids = await this.tab.locator('article').evaluateAll((all) => all.map((a) => Number(a.dataset.id)));
    return Math.max(0, ...ids);
  }

  #later(who, text) {
    return this.tab.locator(`xpath=//article[contains(@class, "${who}")][@data-id > ${this.#heard}]`).filter({ hasText: text });
  }

  /** Presses the Start button of a chat that has not begun. */
  async start() {
    await this.tab.getByRole('button', { name: 'Start', exact: true }).click();
    return this.hear('/help');
  }

  /** Writes to the bot, and waits until it stands in the chat. */
  async say(text) {
    this.#heard = await this.#newest();
    await this.tab.getByRole('textbox', { name: 'Message' }).fill(text);
    await this.tab.getByRole('textbox', { name: 'Message' }).press('Enter');
    await this.#later('own', text).first().waitFor();
  }

  /** Waits for a message of the bot that came since the person last did something. */
  async hear(text) {
    const found = this.#later('theirs', text).first();
    await found.waitFor();
    return this.message(await found.getAttribute('data-id'));
  }

  /** Writes to the bot and hears the answer. */
  async ask(text, answer) {
    await this.say(text);
    return this.hear(answer);
  }

  message(id) {
    return new Message(this, this.tab.locator(`article[data-id="${id}"]`), async () => { this.#heard = await this.#newest(); });
  }

  /** How many messages the page shows. */
  count() {
    return this.tab.locator('article').count();
  }

  async toast(text) {
    await this.tab.locator('.toast', { hasText: text }).waitFor();
  }
}

/** One message of the bot. */
class Message {
  #before;

  constructor(chat, node, before) {
    this.chat = chat;
    this.node = node;
    this.#before = before;
  }

  /** Waits until the message, edited in place, says this. */
  async becomes(text) {
    await this.node.filter({ hasText: text }).waitFor();
    return this;
  }

  text() {
    return this.node.innerText();
  }

  /** The texts in code style: addresses, amounts, signatures. */
  code() {
    return this.node.locator('code').allTextContents();
  }

  button(label) {
    return this.node.getByRole('button', { name: label, exact: typeof label === 'string' });
  }

  async tap(label) {
    await this.#before();
    await this.button(label).click();
  }

  /** Downloads the document of the message; resolves to its name and its text. */
  async download() {
    const begun = this.chat.tab.waitForEvent('download');
    await this.node.getByRole('link').click();
    const file = await begun;
    return { name: file.suggestedFilename(), text: await readFile(await file.path(), 'utf8') };
  }

  /** Follows a url button; resolves to the tab that it opens. */
  async follow(label) {
    await this.#before();
    const opened = this.chat.tab.context().waitForEvent('page');
    await this.node.getByRole('link', { name: label }).click();
    return opened;
  }
}

// Asking the server again when no answer came. Knows a screen, and nothing of what is asked.

import { t } from './catalogue.js';
import { button, h } from './dom.js';
import { NoAnswer } from './server.js';

/**
 * Resolves to what `ask` resolves to. While it asks, the screen says `working`. When no answer comes, the request may have arrived or not: the
 * screen says so (`unknown`, a text or several), and the person can ask again. So `ask` is only for requests that have the same effect when they arrive twice.
 * `again` names the button's text.
 */
export async function untilAnswered(ui, { working, unknown, again = 'common.send_again' }, ask) {
  for (;;) {
    ui.wait(working);
    try {
      return await ask();
    } catch (err) {
      if (!(err instanceof NoAnswer)) throw err;
      await ui.ask(t('common.no_answer_title'), (done) => [
        [unknown].flat().filter(Boolean).map((text) => h('p', null, text)),
        h('div', { class: 'actions' }, button(t(again), 'primary', () => done())),
      ]);
    }
  }
}

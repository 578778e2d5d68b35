// Elements and screens. Knows how things are shown, and nothing of what they mean. Everything is
// set as text or attribute: the page's policy forbids markup from strings, and so do we.

import { LocalizedError, t } from './catalogue.js';
import { plain } from './text.js';

/**
 * Makes an element: h('p', {class: 'hint', on: {click}}, 'text', child, null). Children that are
 * null or false are left out; a prop of true is an empty attribute, of false or null none.
 */
export function h(tag, props, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (name === 'on') {
      for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    } else if (value !== null && value !== false) {
      element.setAttribute(name, value === true ? '' : value);
    }
  }
  element.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return element;
}

/** The person followed another link: what this flow was asking is moot. */
export class Closed extends Error {}

/** What went wrong with what the person entered, as a text of the catalogue; `field` gets the focus. */
export class Problem extends Error {
  constructor(message, field = null) {
    super(message);
    this.field = field;
  }
}

/** One flow's right to the page: it shows one screen after another until it ends or is closed. */
export class Ui {
  #main;
  #status;
  #leave = null; // rejects the question that is open
  #closed = false;
  #ending = new AbortController();

  constructor(main, status) {
    this.#main = main;
    this.#status = status;
  }

  /**
   * Shows a screen and resolves with what `done` is called with. `build(done)` returns its content
   * below the title. Rejects with Closed when the flow is closed.
   */
  ask(title, build) {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new Closed());
      this.#leave = () => reject(new Closed());
      const heading = h('h1', { tabindex: '-1' }, title);
      this.#main.replaceChildren(heading, ...[build(resolve)].flat(Infinity).filter(Boolean));
      this.#status.textContent = '';
      document.title = t('common.page_title', { title });
      globalThis.scrollTo(0, 0);
      heading.focus();
    });
  }

  /** Shows a screen on which the flow ends. */
  end(title, ...content) {
    return this.ask(title, () => content);
  }

  /** Gives the screen another title: what it shows went on. */
  retitle(title) {
    if (this.#closed) return;
    this.#main.querySelector('h1').textContent = title;
    document.title = t('common.page_title', { title });
  }

  /** Shows that something is being waited for. */
  wait(title) {
    // Nobody awaits this question: the next screen replaces it.
    this.ask(title, () => h('p', { class: 'waiting' }, t('common.one_moment'))).catch(() => {});
  }

  /** Announces to people with a screen reader what others see happen. */
  announce(text) {
    if (!this.#closed) this.#status.textContent = text;
  }

  /** A signal that the flow was closed: for what the browser still asks on its behalf. */
  get ended() {
    return this.#ending.signal;
  }

  close() {
    this.#closed = true;
    this.#ending.abort();
    this.#leave?.();
  }
}

/** A button. `kind` is primary, secondary, danger or quiet. */
export function button(label, kind, click) {
  return h('button', { type: 'button', class: kind, on: { click } }, label);
}

/**
 * A form with one button that submits it. `work` may be async: until it ends the form takes no second press,
 * and what it throws is shown above the button until something else is entered. `content` may be a function:
 * it gets also(label, kind, work), which makes a further button for other work of the same form.
 */
export function form(content, label, work, ...others) {
  const error = h('p', { class: 'error', role: 'alert' });
  // What cannot be undone is given as [label, "destructive"]. [label, "plain"] leaves it to another button to stand out.
  const [name, kind] = [label].flat();
  const submit = h('button', { type: 'submit', class: kind === 'plain' ? 'secondary' : `primary ${kind ?? ''}`.trim() }, name);
  const further = [];
  let busy = false;
  const toggle = (pressed, label, on) => {
    busy = on;
    pressed.textContent = on ? t('common.working') : label;
    pressed.setAttribute('aria-disabled', String(on));
    for (const other of [submit, ...further, ...others]) if (other !== pressed) other.disabled = on;
  };
  const run = async (pressed, label, what) => {
    if (busy) return;
    error.textContent = '';
    toggle(pressed, label, true);
    let problem = null;
    try {
      await what();
    } catch (err) {
      problem = err;
    }
    toggle(pressed, label, false);
    if (problem === null || problem instanceof Closed) return;
    error.replaceChildren(errorText(problem, 400));
    problem.field?.focus();
  };
  const also = (label, of, what) => {
    const made = button(label, of, () => run(made, label, what));
    further.push(made);
    return made;
  };
  const parts = typeof content === 'function' ? content(also) : content;
  const submitted = (event) => {
    event.preventDefault();
    run(submit, name, work);
  };
  return h('form', { novalidate: true, autocomplete: 'off', on: { submit: submitted, input: () => { error.textContent = ''; } } }, parts, error,
    h('div', { class: 'actions' }, submit, ...others));
}

/** A text field that no browser remembers, corrects or sends elsewhere for checking. */
export function field(id, label, { tag = 'input', type = 'text', hint = '', ...more } = {}) {
  const input = h(tag, {
    id, type: tag === 'input' ? type : null, autocomplete: 'off', autocapitalize: 'none', autocorrect: 'off',
    spellcheck: 'false', 'data-1p-ignore': true, 'data-lpignore': 'true', 'aria-describedby': hint ? `${id}-hint` : null, ...more,
  });
  const node = h('div', { class: 'field' }, h('label', { for: id }, label), input,
    hint && h('p', { class: 'hint', id: `${id}-hint` }, hint));
  return { node, input };
}

/** A button that copies text, and says so; where the browser refuses, the text is shown for copying. */
export function copyButton(label, text, kind = 'quiet') {
  const b = button(label, kind, async () => {
    try {
      await navigator.clipboard.writeText(text);
      b.textContent = t('common.copied');
    } catch {
      const shown = h('input', { class: 'copy', readonly: true, 'aria-label': t('common.copy_this') });
      shown.value = text;
      b.replaceWith(shown);
      shown.select();
    }
  });
  b.setAttribute('aria-live', 'polite');
  return b;
}

/** A box that stands out: kind is note, warn or danger. */
export function notice(kind, ...content) {
  return h('div', { class: `notice ${kind}` }, content.map((c) => (typeof c === 'string' ? h('p', null, c) : c)));
}

/** The sign of an outcome, for the eye only: ok or stop. The text beside it says the same. */
export function mark(kind) {
  return h('p', { class: `mark ${kind}`, 'aria-hidden': 'true' }, kind === 'ok' ? '✓' : '!');
}

/** An address in full, in groups, its last six characters in another colour. Copies as one word. */
export function addressText(address, groups) {
  let before = address.length - 6; // characters before those
  return h('span', { class: 'address', translate: 'no' }, groups.map((group) => {
    const head = group.slice(0, Math.max(0, before));
    before -= group.length;
    return h('span', null, head, head.length < group.length && h('b', { class: 'last' }, group.slice(head.length)));
  }));
}

/** What an error says: a text of the catalogue as it is, the words of a server or browser as foreign text. */
export const errorText = (err, longest = 300) => (err instanceof LocalizedError || err instanceof Problem ? err.message : foreign(err.message, longest));

/** Foreign text, isolated from the direction of what surrounds it. */
export function foreign(text, longest) {
  return h('bdi', { translate: 'no' }, plain(text, longest));
}

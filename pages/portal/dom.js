// Elements. Everything is set as text or attribute: the page's policy forbids markup from strings,
// and so do we, since most of what is shown was written by strangers' servers.

import { t } from './catalogue.js';

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (name === 'on') {
      for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    } else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? '' : value);
    }
  }
  element.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return element;
}

/**
 * Makes an element: h('p', {class: 'soft', on: {click}}, 'text', child, null). Children that are null
 * or false are left out; a prop of true is an empty attribute, of false or null none.
 */
export const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);

/** The same in a picture. */
export const svg = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);

/**
 * Puts other content into an element. Where somebody is looking at the same thing as before, what was unfolded stays so,
 * and the focus stays on the link or button that had it.
 */
export function renew(element, children, same = true) {
  const content = [children].flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false);
  if (!same) return element.replaceChildren(...content);
  const open = [...element.querySelectorAll('details')].map((one) => one.open);
  const name = (one) => one.getAttribute('href') ?? one.textContent;
  const active = element.contains(document.activeElement) ? name(document.activeElement) : null;
  element.replaceChildren(...content);
  [...element.querySelectorAll('details')].forEach((one, i) => { one.open = open[i] ?? false; });
  if (active === null) return;
  const all = [...element.querySelectorAll('a, button, summary')];
  (all.find((one) => name(one) === active) ?? all.at(-1))?.focus({ preventScroll: true }); // what is gone went off the end of a list
}

let ids = 0;
/** An id that nothing else has. */
export const freshID = (what) => `${what}-${++ids}`;

/** A button that does something; while it does, it does nothing else. */
export function button(label, work, props = {}) {
  const made = h('button', { type: 'button', class: 'act', ...props, on: { click: () => busyWhile(made, work) } }, label);
  return made;
}

async function busyWhile(made, work) {
  if (made.getAttribute('aria-disabled') === 'true') return;
  made.setAttribute('aria-disabled', 'true');
  try {
    await work();
  } finally {
    made.removeAttribute('aria-disabled');
  }
}

/** A labelled control. */
export function field(label, control, hint = null) {
  control.id ||= freshID('field');
  const note = hint && h('small', { id: freshID('hint'), class: 'soft' }, hint);
  if (note) control.setAttribute('aria-describedby', note.id);
  return h('div', { class: 'field' }, h('label', { for: control.id }, label), control, note);
}

/** A choice among values with their labels; a label that equals its value is a name and not translated. */
export function select(options, chosen, props = {}) {
  return h('select', props, Object.entries(options).map(([value, label]) => h('option', { value, selected: value === chosen, translate: value === label && 'no' }, label)));
}

/** A form that shows its result below itself. work(show) may throw: errorText(err) is then the result. */
export function form(fields, label, work, errorText) {
  const result = h('p', { class: 'outcome', role: 'status' });
  const submit = h('button', { class: 'act main', type: 'submit' }, label);
  const made = h('form', {
    novalidate: true,
    on: {
      submit: (event) => {
        event.preventDefault();
        return busyWhile(submit, () => attempt(result, work, errorText));
      },
    },
  }, fields, h('div', { class: 'row' }, submit), result);
  return made;
}

/** A button that shows its result below itself. `first` may ask the person to confirm. */
export function action(label, work, errorText, { first = () => true, ...props } = {}) {
  const result = h('p', { class: 'outcome', role: 'status' });
  return h('div', { class: 'action' }, button(label, async () => await first() && attempt(result, work, errorText), props), result);
}

async function attempt(result, work, errorText) {
  let shown = false;
  const show = (kind, ...content) => {
    shown = true;
    result.className = `outcome ${kind}`;
    result.replaceChildren(...content.flat().filter((c) => c !== null && c !== false));
  };
  show('', t('common.one_moment'));
  shown = false;
  try {
    await work(show);
    if (!shown) show('');
  } catch (err) {
    show('bad', errorText(err));
  }
}

/** Text that can be taken along: a secret, an id. */
export function copyable(text, what) {
  const shown = h('code', { class: 'taken', translate: 'no' }, text);
  const named = (name) => {
    copy.textContent = name;
    copy.setAttribute('aria-label', t('common.copy_name', { action: name, what }));
  };
  const copy = button('', async () => {
    try {
      await navigator.clipboard.writeText(text);
      named(t('common.copied'));
    } catch { // not every browser lets a page write there: select it, for the person to copy
      getSelection().selectAllChildren(shown);
      named(t('common.selected'));
    }
    setTimeout(named, 2000, t('common.copy'));
  });
  named(t('common.copy'));
  return h('div', { class: 'row' }, shown, copy);
}

/** Asks before something that cannot be taken back; resolves to the answer. */
export function sure(question, explanation, yes, no) {
  return new Promise((resolve) => {
    const title = freshID('title');
    const end = (answer) => () => { box.close(answer); };
    const box = h('dialog', { 'aria-labelledby': title, on: { close: () => { box.remove(); resolve(box.returnValue === 'yes'); } } },
      h('h2', { id: title }, question), h('p', null, explanation),
      h('div', { class: 'row' }, button(no, end('no'), { autofocus: true }), button(yes, end('yes'), { class: 'act danger' })));
    document.body.append(box);
    box.showModal();
  });
}

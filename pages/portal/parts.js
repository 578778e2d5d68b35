// Pieces that several views show.

import { h } from './dom.js';

const SIGNS = { good: '●', bad: '▲', off: '■', new: '○' };

/** A state, {kind, text, foreign}: its sign and its text, which says the same without colour. */
export const badge = ({ kind, text, foreign = false }) => h('span', { class: `badge ${kind}` },
  h('span', { 'aria-hidden': 'true' }, `${SIGNS[kind]} `), foreign ? h('bdi', { translate: 'no' }, text) : text);

// The page's decoder, made to remember what it worked out. Tests that decode a hundred thousand messages, each with one byte changed, meet the same
// addresses and token accounts again and again, and writing or deriving them is most of their work. It is the page's own code: remembered.mjs stands in
// for the modules of pure functions that it calls.

import { register } from 'node:module';

register('./remembering-hooks.mjs', import.meta.url);

export const { Refusal, decode } = await import('../page/decode.js?remembering');

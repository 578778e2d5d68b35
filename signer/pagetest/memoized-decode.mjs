// The page's decoder with memoized functions. Tests that decode a hundred thousand messages, each with one byte changed, meet the same
// addresses and token accounts again and again, and writing or deriving them is most of their work. It is the page's own code: memoized.mjs stands in
// for the modules of pure functions that it calls.

import { register } from 'node:module';

register('./memoized-hooks.mjs', import.meta.url);

export const { Refusal, decode } = await import('../page/decode.js?memoized');

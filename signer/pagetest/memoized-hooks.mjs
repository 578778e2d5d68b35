// How a module of the page that is imported with ?memoized gets memoized.mjs (see memoized-decode.mjs). Without it, it imports as in a browser.

const MARK = '?memoized';
const REPLACED = ['./associated.js', './base58.js', './bytes.js'];

export async function resolve(specifier, context, next) {
  if (!context.parentURL?.endsWith(MARK)) return next(specifier, context);
  if (REPLACED.includes(specifier)) return next(new URL('memoized.mjs', import.meta.url).href, context);
  const found = await next(specifier, context);
  return specifier === './swap.js' ? { ...found, url: found.url + MARK } : found;
}

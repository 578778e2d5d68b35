// How a module of the page that is imported with ?remembering gets remembered.mjs (see remembering.mjs). Without it, it imports as in a browser.

const MARK = '?remembering';
const REMEMBERED = ['./associated.js', './base58.js', './bytes.js'];

export async function resolve(specifier, context, next) {
  if (!context.parentURL?.endsWith(MARK)) return next(specifier, context);
  if (REMEMBERED.includes(specifier)) return next(new URL('remembered.mjs', import.meta.url).href, context);
  const found = await next(specifier, context);
  return specifier === './swap.js' ? { ...found, url: found.url + MARK } : found;
}

// What the link in the address bar asks for. boot.js chooses by it which part of the page to load, and start.js which flow to begin.

/** What a link asks for, by the letter in its fragment. */
const KINDS = { b: 'bind', s: 'sign', f: 'freeze', u: 'unfreeze', l: 'limits' };

/**
 * What a page was opened for: {kind: home|bind|sign|freeze|unfreeze|limits|broken|gone, fragment, secret, language, restore}. A link may end with
 * "&lang=<tag>", the person's language as the chat knows it; it only chooses among the page's own catalogues. `state` is that of the history entry:
 * {link} says that its link was cleared, {restore} that the flow first restores its wallet. A link cannot say that.
 */
export function wish(fragment = location.hash, state = history.state) {
  const empty = { fragment, secret: '', language: '', restore: false };
  if (fragment === '' || fragment === '#') return { ...empty, kind: state?.link ? 'gone' : 'home' };
  const [, letter, secret, language = ''] = /^#([bsful])=([A-Za-z0-9_-]{16,128})(?:&lang=([A-Za-z0-9-]{2,35}))?$/.exec(fragment) ?? [];
  if (!letter) return { ...empty, kind: 'broken' };
  return { kind: KINDS[letter], fragment, secret, language, restore: state?.restore === true };
}

/** The link of a kind and a secret. */
export const linkTo = (kind, secret) => `${location.origin}/w/${secret && `#${Object.keys(KINDS).find((letter) => KINDS[letter] === kind)}=${secret}`}`;

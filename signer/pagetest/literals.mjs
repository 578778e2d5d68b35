// Reads JavaScript just well enough to tell its string literals from its comments and code: for tests that look for
// sentences outside of the catalogue, and for keys of texts.

/** Every string literal of a module: {line, text}. A template's text stands without its expressions. */
export function literals(source) {
  const found = [];
  const inTemplate = []; // depths of braces at which an expression of a template ends
  let depth = 0;
  let before = ''; // the last character of code, which tells a division from a regular expression
  let line = 1;
  for (let i = 0; i < source.length; i++) {
    const c = source[i];
    if (c === '\n') line++;
    else if (source.startsWith('//', i)) i = (source.indexOf('\n', i) + source.length + 1) % (source.length + 1) - 1;
    else if (source.startsWith('/*', i)) {
      const end = source.indexOf('*/', i) + 1;
      line += source.slice(i, end).split('\n').length - 1;
      i = end;
    } else if (c === '/' && /[(,=:[!&|?{};>\n]|^$/.test(before)) {
      for (let inClass = false; ; ) {
        const r = source[++i];
        if (r === '\\') i++;
        else if (r === '[') inClass = true;
        else if (r === ']') inClass = false;
        else if (r === '/' && !inClass) break;
      }
      before = '/';
    } else if (c === "'" || c === '"' || c === '`' || (c === '}' && inTemplate.at(-1) === depth)) {
      const template = c === '`' || c === '}';
      if (c === '}') inTemplate.pop();
      const start = line;
      let text = '';
      for (;;) {
        const s = source[++i];
        if (s === '\n') line++;
        if (s === '\\') text += source[i++ + 1];
        else if (template && s === '$' && source[i + 1] === '{') {
          inTemplate.push(depth);
          i++;
          break;
        } else if (s === (template ? '`' : c)) break;
        else text += s;
      }
      found.push({ line: start, text });
      before = inTemplate.at(-1) === depth ? '' : '"';
    } else {
      if (c === '{') depth++;
      if (c === '}') depth--;
      if (!/\s/.test(c)) before = c;
    }
  }
  return found;
}

// The catalogues of both pages: that each text is there, used, and filled in; and how a text is chosen.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { LocalizedError, choose, date, direction, flatten, has, load, number, rich, t, use } from '../page/catalogue.js';
import { literals } from './literals.mjs';
import { bypassing, pseudo, pseudoCatalogue } from './pseudo.mjs';

const read = (path) => readFileSync(new URL(path, import.meta.url), 'utf8');
const english = (texts) => use({ a: texts });

// Sections with keys that the code composes from a name, such as a status, and an ending.
const PAGES = {
  signer: { folder: '../page/', html: '../page/index.html', composed: /^(chain|refusal|status)\./ },
  portal: { folder: '../../pages/portal/', html: '../../pages/portal.html', composed: /^((chart|health|session|state)\.|hook\.ended_)/ },
};
const DATA = ['words.js', 'common.js', 'tokens.js']; // lists of words and tokens, without a text

const placeholders = (text) => [...new Set(text.match(/\{[a-z_]+\}/g))].sort().join();

/** What a text lacks beside its English, and what it has too much. */
function unlike(language, original, text) {
  const wrong = [];
  const forms = (of) => (typeof of === 'string' ? { other: of } : of);
  if ((typeof text === 'string') !== (typeof original === 'string')) return ['plural forms in one language and none in the other'];
  if (typeof text !== 'string') {
    const wanted = new Intl.PluralRules(language).resolvedOptions().pluralCategories;
    if (Object.keys(text).sort().join() !== [...wanted].sort().join()) wrong.push(`plural forms ${Object.keys(text)}, not ${wanted}`);
  }
  for (const [form, one] of Object.entries(forms(text))) {
    if (one.trim() === '') wrong.push(`nothing in ${form}`);
    const [got, want] = [placeholders(one), placeholders(forms(original).other)];
    const less = form === 'other' ? '' : '{count}'; // "one day" names no number
    if (got !== want && got !== want.split(',').filter((p) => p !== less).join()) wrong.push(`${form}: placeholders ${got}, not ${want}`);
  }
  return wrong;
}

for (const [name, { folder, html, composed }] of Object.entries(PAGES)) {
  const files = readdirSync(new URL(folder, import.meta.url));
  const modules = files.filter((f) => f.endsWith('.js') && !DATA.includes(f)).map((file) => ({ file, source: read(folder + file), strings: literals(read(folder + file)) }));
  const catalogue = JSON.parse(read(`${folder}en.json`));
  const keys = flatten(catalogue);
  const attributes = [...read(html).matchAll(/data-(text|label)="([^"]*)"[^>]*?(?:aria-label="([^"]*)"[^>]*)?>([^<]*)/g)];

  test(`${name}: every key that is used has a text, and every text is used`, () => {
    const sections = new Set(Object.keys(catalogue));
    const used = new Set(attributes.map(([, , key]) => key));
    for (const { file, strings } of modules) {
      for (const { line, text } of strings) {
        if (!/^[a-z]+\.[a-z0-9_]+$/.test(text) || !sections.has(text.split('.')[0]) || text.endsWith('_')) continue;
        if (files.includes(text)) continue;
        assert.ok(keys.has(text), `${file}:${line}: ${text} has no text`);
        used.add(text);
      }
    }
    const code = modules.map((m) => m.source).join('\n');
    const named = (key) => new RegExp(`\\b${key.split('.')[1].replace(/^ended_|_(title|means|money|app|twice)$/g, '')}\\b`).test(code);
    assert.deepEqual([...keys.keys()].filter((key) => !used.has(key) && !(composed.test(key) && named(key))), [], 'texts that nothing shows');
  });

  test(`${name}: no sentence stands outside of the catalogue`, () => {
    const css = new Set(['portal.css', '../static/style.css', 'style.css'].flatMap((f) => {
      try { return read(folder + f).match(/\.[a-z-]+/g).map((c) => c.slice(1)); } catch { return []; }
    }));
    const internal = [/^not base\d\d$/, /^no address off the curve$/, /^entropy is 16/, /^by private key$/]; // errors that no person sees
    for (const { file, strings } of modules.filter((m) => !['challenge.js', 'policy.js'].includes(m.file))) { // the texts that are signed are the same in every language
      for (const { line, text } of strings) {
        if (!/[A-Za-z]{2,} [A-Za-z]{2,}/.test(text) || internal.some((known) => known.test(text))) continue;
        assert.ok(text.split(' ').filter(Boolean).every((word) => css.has(word)), `${file}:${line}: “${text}”`);
      }
    }
  });

  test(`${name}: the HTML holds the English of the catalogue, and no other text`, () => {
    assert.ok(attributes.length >= 5);
    for (const [, what, key, label, text] of attributes) assert.equal(what === 'text' ? text : label, keys.get(key), key);
    const rest = read(html).replace(/<title>.*<\/title>|<!doctype html>/g, '').replace(/data-text="[^"]*">[^<]*/g, '>').replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ').trim();
    assert.equal(rest, name === 'signer' ? 'purser' : '');
  });

  test(`${name}: its languages are its catalogues, and each has the texts, the placeholders and all plural forms`, async () => {
    const LANGUAGES = files.filter((f) => f.endsWith('.json')).map((f) => f.replace('.json', '')).sort();
    assert.deepEqual(LANGUAGES, ['ar', 'en', 'es', 'pt', 'ru', 'tr', 'zh']);
    if (name === 'portal') assert.deepEqual([...(await import(`${folder}languages.js`)).LANGUAGES].sort(), LANGUAGES); // the signing page's HTML names its own
    for (const language of LANGUAGES) {
      const texts = flatten(JSON.parse(read(`${folder}${language}.json`)));
      assert.deepEqual([...texts.keys()].sort(), [...keys.keys()].sort(), language);
      for (const [key, text] of texts) assert.deepEqual(unlike(language, keys.get(key), text), [], `${language}: ${key}`);
    }
  });

  test(`${name}: where a language is written from right to left, the slash of a command stays in front of it`, () => {
    for (const file of files.filter((f) => f.endsWith('.json') && direction(f.replace('.json', '')) === 'rtl')) {
      for (const [key, text] of flatten(JSON.parse(read(folder + file)))) {
        for (const one of typeof text === 'string' ? [text] : Object.values(text)) assert.doesNotMatch(one, /(?<![\u200e\w’.'/{}])\/[a-z]/, `${file}: ${key}: write U+200E before the slash`);
      }
    }
  });

  test(`${name}: no module imports one that imports it`, () => {
    const imports = Object.fromEntries(modules.map(({ file, source }) => [file, [...source.matchAll(/(?:from|import) '\.\/([^']*)'/g)].map(([, to]) => to)]));
    const visit = (file, way) => {
      assert.ok(!way.includes(file), `a circle: ${[...way, file].join(' -> ')}`);
      for (const to of imports[file] ?? []) visit(to, [...way, file]);
    };
    for (const entry of ['main.js', 'connecting.js', 'signing.js', 'boot.js'].filter((file) => file in imports)) visit(entry, []);
  });
}

test('both pages have the same catalogue.js, each on its own origin', () => {
  assert.equal(read('../page/catalogue.js'), read('../../pages/portal/catalogue.js'));
});

test('a text is filled in, and a placeholder without argument stays to be seen', () => {
  english({ b: '{amount} to {name}', plain: 'No braces' });
  assert.equal(t('a.b', { amount: '1.50', name: '{amount}' }), '1.50 to {amount}', 'an argument is no text');
  assert.equal(t('a.b', { amount: 12345 }), '12,345 to {name}');
  assert.equal(t('a.b', { amount: '12345' }), '12345 to {name}', 'an amount keeps its digits');
  assert.equal(t('a.plain'), 'No braces');
  const element = { bold: true };
  assert.deepEqual(rich('a.b', { amount: element, name: 'x' }), [element, ' to ', 'x']);
});

test('plural forms follow the language', () => {
  use({ a: { n: { one: '{count} word', other: '{count} words' } } });
  assert.deepEqual([1, 2, 0, 1000].map((count) => t('a.n', { count })), ['1 word', '2 words', '0 words', '1,000 words']);
  use({ a: { n: { one: 'e', other: 'e' } } }, 'pl', { a: { n: { one: '{count} słowo', few: '{count} słowa', many: '{count} słów', other: '{count} słowa' } } });
  assert.deepEqual([1, 2, 5, 22].map((count) => t('a.n', { count })), ['1 słowo', '2 słowa', '5 słów', '22 słowa']);
  use({ a: { n: { one: 'one', other: 'more' } } }, 'pl', {});
  assert.equal(t('a.n', { count: 5 }), 'more', 'English forms under the rules of another language');
});

test('what a language lacks is said in English, and never nothing', () => {
  use({ a: { b: 'English', c: 'also' } }, 'de', { a: { b: 'Deutsch' } });
  assert.deepEqual([t('a.b'), t('a.c'), t('a.d'), has('a.c'), has('a.d')], ['Deutsch', 'also', 'a.d', true, false]);
});

test('the language is the first wanted one that is there', () => {
  const there = ['en', 'de', 'pt-BR'];
  for (const [wanted, is] of [[[], 'en'], [['de'], 'de'], [['de-AT'], 'de'], [['DE'], 'de'], [['pt-br'], 'pt-BR'], [['pt'], 'en'], [['xx', 'de'], 'de'], [['en-US', 'de'], 'en'], [['../x', ''], 'en'], [['constructor'], 'en']]) {
    assert.equal(choose(wanted, there), is, String(wanted));
  }
  assert.deepEqual(['ar', 'fa-IR', 'HE', 'en', 'eo'].map((tag) => direction(tag)), ['rtl', 'rtl', 'rtl', 'ltr', 'ltr']);
});

test('numbers and times keep the digits 0 to 9 in every language', () => {
  const at = new Date('2026-11-22T15:04:00Z');
  for (const language of ['ar', 'fa', 'hi', 'th']) {
    use({}, language, {});
    assert.match(number(1234567), /^[0-9.,٬\s]+$/, language);
    assert.match(date(at, { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' }), /04/, language);
    assert.match(date(at, { dateStyle: 'medium', timeZone: 'UTC' }), /2026/, language); // the year of the chat, in no other calendar
  }
  use({});
  assert.equal(number(1234567), '1,234,567');
  assert.equal(date(at, { dateStyle: 'medium', timeZone: 'UTC' }), '22 Nov 2026');
  assert.equal(date(at, { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' }), '15:04');
});

test('an error is the text of its key, in the language of the moment', () => {
  const err = new LocalizedError('a.b', { name: 'x' });
  use({ a: { b: 'No {name}.' } });
  assert.equal(err.message, 'No x.');
  use({ a: { b: '' } }, 'de', { a: { b: 'Kein {name}.' } });
  assert.equal(`${err.message} ${err instanceof Error}`, 'Kein x. true');
});

test('catalogues are loaded from the page’s own folder; another language may be missing, English may not', async (context) => {
  const asked = [];
  const files = { 'en.json': { a: { b: 'English' } }, 'de.json': { a: { b: 'Deutsch' } } };
  context.mock.method(globalThis, 'fetch', async (url) => {
    const name = url.href.split('/').at(-1);
    asked.push([url.href.startsWith(new URL('../page/', import.meta.url).href), name]);
    if (!files[name]) return new Response('', { status: 404 });
    return files[name] === 'broken' ? new Response('{') : Response.json(files[name]);
  });
  await load(['en', 'de'], ['de-CH']);
  assert.equal(t('a.b'), 'Deutsch');
  assert.deepEqual(asked, [[true, 'en.json'], [true, 'de.json']]);
  await load(['en', 'de'], ['fr']);
  assert.deepEqual([t('a.b'), asked.length], ['English', 3]);
  for (const bad of [undefined, 'broken']) {
    files['de.json'] = bad;
    await load(['en', 'de'], ['de']);
    assert.equal(t('a.b'), 'English');
  }
  files['en.json'] = undefined;
  await assert.rejects(load(['en', 'de'], ['de']), /en\.json: 404/);
});

test('the pseudo-locale keeps placeholders and forms, is 40 % longer, and shows what bypasses the catalogue', async () => {
  assert.equal(pseudo('Send {amount} SOL'), 'Šéñð ⟦{amount}⟧ ŠÖĻ ļöñĝéŕ');
  assert.deepEqual(pseudoCatalogue({ a: { one: 'b', other: 'c' } }), { a: { one: pseudo('b'), other: pseudo('c') } });
  for (const text of ['Back', 'A sentence of some length.']) assert.ok(pseudo(text).length >= text.length * 1.3, text);
  const of = (...texts) => bypassing({ evaluate: async () => texts });
  assert.deepEqual(await of('Šéñð ⟦1.5⟧ ŠÖĻ', 'ⱥ ⟦ƀ ⟦plain⟧ ç⟧ SOL'), []);
  for (const bad of ['Send', 'Šéñð now', 'Šéñð {amount}', 'ƀ ⟦an English sentence⟧']) assert.deepEqual(await of(bad), [bad]);
});

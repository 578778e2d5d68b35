// A search over the page: what does not contain every word is hidden, in the page and in its index. Without this file
// the page is whole. Its texts are in the page's HTML.
const box = document.getElementById('search');
const words = document.getElementById('words');
const found = document.getElementById('found');
const index = document.getElementById('contents');

// What can be found: each article, and each section that has none.
const entries = [...document.querySelectorAll('main article, main section')].filter((one) => !one.querySelector('article'))
  .map((one) => ({ one, text: one.textContent.toLowerCase() }));
const parts = [...document.querySelectorAll('main section')].filter((one) => one.querySelector('article'));
const links = [...index.querySelectorAll('a')];

const fit = (one, fits) => one.toggleAttribute('data-unfit', !fits);

function search() {
  const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const { one, text } of entries) {
    const fits = wanted.every((word) => text.includes(word));
    fit(one, fits);
    if (fits) count++;
  }
  for (const part of parts) {
    fit(part, part.querySelector('article:not([data-unfit])') !== null);
    for (const intro of part.querySelectorAll(':scope > p')) fit(intro, wanted.length === 0);
  }
  for (const link of links) {
    const to = document.getElementById(link.hash.slice(1));
    fit(link.parentElement, to !== null && !to.hasAttribute('data-unfit'));
  }
  found.textContent = wanted.length === 0 ? '' : count === 0 ? found.dataset.none : found.dataset.count.replace('{count}', count).replace('{all}', entries.length);
}

words.addEventListener('input', search);
words.addEventListener('keydown', (event) => {
  if (event.key === 'Enter') document.querySelector('main article:not([data-unfit]), main section:not([data-unfit])')?.scrollIntoView();
});
// A link within the page shows where it leads, whatever was searched for.
addEventListener('hashchange', () => {
  const to = document.getElementById(location.hash.slice(1));
  if (to?.closest('[data-unfit]')) {
    words.value = '';
    search();
    to.scrollIntoView();
  }
});
box.hidden = false;
search(); // a browser may have kept what was typed

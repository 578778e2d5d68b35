// Gives each example a button that copies it. Without this file the page is whole. Its texts are in the page's HTML.
for (const button of document.querySelectorAll('button.copy')) {
  const text = document.getElementById(button.dataset.of).textContent;
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = button.dataset.copied;
    } catch {
      // Not every browser lets a page write there: select it, for the person to copy.
      getSelection().selectAllChildren(document.getElementById(button.dataset.of));
      button.textContent = button.dataset.selected;
    }
    setTimeout(() => { button.textContent = label; }, 2000);
  });
}

// The index is open where it has a column of its own, and folded where it would come before everything else.
const contents = document.getElementById('contents');
const beside = matchMedia('(min-width: 60rem)');
const fold = () => { contents.open = beside.matches; };
fold();
beside.addEventListener('change', fold);
contents.addEventListener('click', (event) => {
  if (event.target.closest('a')) fold();
});

// Gives each example a button that copies it. Without this file the page is whole.
for (const button of document.querySelectorAll('button.copy')) {
  const text = document.getElementById(button.dataset.of).textContent;
  button.hidden = false;
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = 'Copied';
    } catch {
      // Not every browser lets a page write there: select it, for the person to copy.
      getSelection().selectAllChildren(document.getElementById(button.dataset.of));
      button.textContent = 'Selected';
    }
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  });
}

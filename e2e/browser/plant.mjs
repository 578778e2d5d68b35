// Puts decoys where secrets must never be, so that a search which finds none proves something.

/** Stores and sends the given texts as a page that leaks would: in IndexedDB, and by HTTP. */
export function plant(tab, { texts, bytes }) {
  return tab.evaluate(async ({ texts, bytes }) => {
    const raw = bytes.map((b) => Uint8Array.from(atob(b), (c) => c.charCodeAt(0)));
    const db = await new Promise((resolve, reject) => {
      const r = indexedDB.open('decoy', 1);
      r.onupgradeneeded = () => r.result.createObjectStore('decoy');
      r.onsuccess = () => resolve(r.result);
      r.onerror = () => reject(r.error);
    });
    await new Promise((resolve, reject) => {
      const tx = db.transaction('decoy', 'readwrite', { durability: 'strict' });
      const store = tx.objectStore('decoy');
      // Small, large and repetitive, and beyond Latin-1: browsers keep these in different ways.
      store.put({ texts, raw }, 'small');
      store.put({ filler: 'all work and no play '.repeat(400), texts, raw }, 'compressed');
      store.put({ texts: texts.map((t) => `${t}\u2713`) }, 'wide');
      store.put({ filler: crypto.getRandomValues(new Uint8Array(65536)), more: crypto.getRandomValues(new Uint8Array(65536)), texts, raw }, 'large');
      tx.oncomplete = resolve;
      tx.onabort = () => reject(tx.error);
    });
    db.close();
    const post = (body) => fetch('/w/decoy', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
    await post(JSON.stringify(texts));
    for (const r of raw) await post(r);
  }, { texts, bytes });
}

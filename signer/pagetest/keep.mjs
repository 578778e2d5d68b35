// What the tests read from and put into the storage of a device.

/** What the device keeps in one of its stores. */
export const keptIn = (tab, name) => tab.evaluate(async (name) => {
  const wait = (r) => new Promise((resolve, reject) => { r.onsuccess = () => resolve(r.result); r.onerror = () => reject(r.error); });
  const db = await wait(indexedDB.open('purser'));
  const all = await wait(db.transaction(name).objectStore(name).getAll());
  db.close();
  return all;
}, name);

/** Puts a record into one of the device's stores. */
export const keep = (tab, name, record) => tab.evaluate(async ([name, record]) => {
  const wait = (r) => new Promise((resolve, reject) => { r.onsuccess = () => resolve(r.result); r.onerror = () => reject(r.error); });
  const db = await wait(indexedDB.open('purser'));
  const tx = db.transaction(name, 'readwrite');
  tx.objectStore(name).put(record);
  await new Promise((resolve, reject) => { tx.oncomplete = resolve; tx.onabort = () => reject(tx.error); });
  db.close();
}, [name, record]);

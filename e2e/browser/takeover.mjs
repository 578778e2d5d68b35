// A server that somebody took over leaves a service worker in a browser, and then the right server is back. Settings: {page,
// profiles, executable}. Asks the test for `restore` (purser takes the address back).

import { openDevice } from './chromium.mjs';
import { play } from './scenario.mjs';

await play(async (settings, ask) => {
  const context = await openDevice(settings.profiles.alice, settings);
  const tab = await context.newPage();
  await tab.goto(settings.page);
  await tab.waitForFunction(() => document.title === 'registered');
  await ask('restore');
  // The old worker serves this visit. The browser then asks for its script, and what it gets ends the worker.
  await tab.goto(settings.page);
  const titles = [await tab.title()];
  await tab.evaluate(() => new Promise((ended) => {
    const look = async () => ((await navigator.serviceWorker.getRegistrations()).length === 0 ? ended() : setTimeout(look, 100));
    look();
  }));
  await tab.goto(settings.page);
  titles.push(await tab.title());
  return titles;
});

// Takes a picture of every screen: `node pictures.mjs FOLDER [phone|desktop] [light|dark] [whole|fold]`;
// fold is what is seen without scrolling.

import { join } from 'node:path';
import { DESKTOP, PHONE, launch, serve } from './harness.mjs';
import { walk } from './walk.mjs';

const [folder, width = 'phone', colorScheme = 'light', much = 'whole'] = process.argv.slice(2);
if (!folder) throw new Error('usage: node pictures.mjs FOLDER [phone|desktop] [light|dark]');
const server = await serve('localhost');
const browser = await launch();
try {
  const options = { ...(width === 'phone' ? PHONE : DESKTOP), colorScheme, deviceScaleFactor: 1 };
  await walk(browser, server, options, (name, tab) =>
    tab.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`), fullPage: much === 'whole' }));
} finally {
  await browser.close();
  await server.close();
}

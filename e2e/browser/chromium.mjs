// A Chromium with a profile of its own, as one person's device has it. All that it sends goes
// through the proxy that it is given, loopback included, so that nothing leaves unseen.

import { join } from 'node:path';
import { chromium } from 'playwright-core';

export const PHONE = { width: 390, height: 844 };
export const DESKTOP = { width: 1280, height: 860 };

const open = new Set(); // contexts of this process

/** Ends every browser that is still open. */
export const closeDevices = () => Promise.allSettled([...open].map((context) => context.close()));

/** Keeps a picture of every open tab in `folder`, and returns what each tab is. */
export async function picturesOfTabs(folder) {
  const tabs = [...open].flatMap((context) => context.pages());
  return Promise.all(tabs.map(async (tab, i) => {
    const path = join(folder, `tab-${i}.png`);
    const picture = await tab.screenshot({ path, timeout: 15_000 }).then(() => path, (err) => `no picture: ${err.message.split('\n')[0]}`);
    return `${tab.url().replace(/#.*/, '#…')}: ${picture}`; // what follows the # is a secret of the page
  }));
}

/** Opens the browser over the profile in `folder`. The scenario's end closes it, if nothing has before. */
export async function openDevice(folder, { proxy, executable, ...more }) {
  const context = await chromium.launchPersistentContext(folder, {
    executablePath: executable,
    args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-component-update', '--disable-sync'],
    viewport: DESKTOP,
    ...(proxy && { proxy: { server: proxy } }), // playwright sends loopback addresses there too
    ...more,
  });
  context.setDefaultTimeout(120_000); // a machine may have eight times as much to do as it can
  open.add(context);
  context.on('close', () => open.delete(context));
  return context;
}

/** Collects what no page of ours may do: errors, and what its own policy blocked. */
export function complaintsOf(context) {
  const complaints = [];
  const watch = (tab) => {
    tab.on('pageerror', (err) => complaints.push(`${tab.url()}: ${err.message}`));
    tab.on('console', (m) => {
      if (m.type() === 'error' && !/Failed to load resource|net::ERR/.test(m.text())) complaints.push(`${tab.url()}: ${m.text()}`);
    });
  };
  context.pages().forEach(watch);
  context.on('page', watch);
  return complaints;
}

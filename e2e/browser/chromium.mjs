// A Chromium with a profile of its own, as one person's device has it. All that it sends goes
// through the proxy that it is given, loopback included, so that nothing leaves unseen.

import { chromium } from 'playwright-core';

export const PHONE = { width: 390, height: 844 };
export const DESKTOP = { width: 1280, height: 860 };

/** Opens the browser over the profile in `folder`. Close the context to end it. */
export async function openDevice(folder, { proxy, executable, ...more }) {
  const context = await chromium.launchPersistentContext(folder, {
    executablePath: executable,
    args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-component-update', '--disable-sync'],
    viewport: DESKTOP,
    ...(proxy && { proxy: { server: proxy } }), // playwright sends loopback addresses there too
    ...more,
  });
  context.setDefaultTimeout(60_000);
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

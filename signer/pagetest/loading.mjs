// How long the page takes to load and to sign, in Chromium over a slow network with a slow processor. `make bench` runs it; it
// is no test. `node loading.mjs` measures the page of pagetest's own server: the list of wallets, a link that connects and one that signs, as a stranger opens them, and
// a payment that is signed. `node loading.mjs ORIGIN` measures the list of wallets as the server at ORIGIN/w/ serves it, and the rest likewise. Prints JSON, times in
// milliseconds as medians.
//
// The network has 150 ms of latency for each request, as Chromium emulates it, and 4 Mbit/s. The processor is 4 times slower. Behind a link the page also asks the server
// what it is about, at the same time as for its script.

import { BIND, SIGN, approve, follow, install, launch, serve, title, visit } from './harness.mjs';

const NETWORK = { offline: false, latency: 150, downloadThroughput: 500_000, uploadThroughput: 500_000 };
const SLOWER = 4;
const RUNS = 5;

const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];

/** Slows a tab down, and counts what comes over its network. */
async function slowed(tab, context) {
  const cdp = await context.newCDPSession(tab);
  await cdp.send('Network.enable');
  await cdp.send('Network.emulateNetworkConditions', NETWORK);
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: SLOWER });
  const net = { requests: 0, bytes: 0 };
  const cached = new Set();
  cdp.on('Network.requestServedFromCache', ({ requestId }) => cached.add(requestId));
  cdp.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (cached.has(requestId) || encodedDataLength === 0) return;
    net.requests++;
    net.bytes += encodedDataLength;
  });
  return net;
}

/** Has a tab call `interactive` in the frame that first shows a button. Playwright's own way of waiting costs a slow processor more than the page does. */
async function watched(tab, context) {
  const cdp = await context.newCDPSession(tab);
  await cdp.send('Runtime.enable');
  await cdp.send('Runtime.addBinding', { name: 'interactive' });
  await tab.addInitScript(() => {
    const observer = new MutationObserver(() => {
      if (!document.querySelector('main button')) return;
      observer.disconnect();
      requestAnimationFrame(() => globalThis.interactive(String(performance.now())));
    });
    observer.observe(document, { childList: true, subtree: true });
  });
  return () => new Promise((resolve) => { cdp.once('Runtime.bindingCalled', ({ payload }) => resolve(Number(payload))); });
}

/** Opens a page; resolves to how long it took from the navigation until a button can be pressed. */
async function opening(tab, net, shown, url) {
  await tab.goto('about:blank');
  net.requests = net.bytes = 0;
  const interactive = shown();
  await tab.goto(url, { waitUntil: 'commit' });
  const took = await interactive;
  await tab.waitForLoadState('load');
  return { interactive_ms: Math.round(took), requests: net.requests, bytes: net.bytes };
}

async function loading(browser, url) {
  const first = [];
  const later = [];
  for (let i = 0; i < RUNS; i++) {
    const context = await browser.newContext();
    const tab = await context.newPage();
    const net = await slowed(tab, context);
    const shown = await watched(tab, context);
    first.push(await opening(tab, net, shown, url));
    later.push(await opening(tab, net, shown, url));
    await context.close();
  }
  const all = (list) => Object.fromEntries(Object.keys(list[0]).map((key) => [key, median(list.map((one) => one[key]))]));
  return { first: all(first), later: all(later) };
}

/** From the tap on "Sign and send" to the signature at the server: few rounds of PBKDF2, and the two requests that follow without their network. */
async function signing(browser, server) {
  const took = [];
  for (let i = 0; i < RUNS; i++) {
    server.reset();
    const { tab, context } = await visit(browser, server);
    await install(tab);
    await follow(tab, server, SIGN);
    const cdp = await context.newCDPSession(tab);
    await cdp.send('Emulation.setCPUThrottlingRate', { rate: SLOWER });
    await tab.evaluate(() => document.addEventListener('submit', () => performance.mark('tap'), true));
    await approve(tab);
    await title(tab, 'Transaction signed');
    took.push(await tab.evaluate(() => {
      const [tap] = performance.getEntriesByName('tap').slice(-1);
      const sent = performance.getEntriesByType('resource').filter((r) => r.name.endsWith('/w/tx/signature')).at(-1);
      return sent.responseEnd - tap.startTime;
    }));
    await context.close();
  }
  return median(took);
}

const browser = await launch();
const server = await serve();
const [origin = server.origin] = process.argv.slice(2);
try {
  server.world.rounds = 'real'; // the very files that the binary has, compressed
  const home = await loading(browser, `${origin}/w/`);
  const connect = await loading(browser, `${server.origin}/w/${BIND}`);
  const sign = await loading(browser, `${server.origin}/w/${SIGN}`);
  console.log(JSON.stringify({ home, connect, sign, sign_ms: await signing(browser, server) }));
} finally {
  await browser.close();
  await server.close();
}

// The browser of the pages' tests, and the language that a tab's page speaks. The portal's tests use it too.

import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { accented, pseudo } from './pseudo.mjs';

/** The Chromium that CHROMIUM names, or Debian's, without windows if it is there; null where there is none. */
const chromiumPath = [process.env.CHROMIUM, '/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => path && existsSync(path)) ?? null;

/** Why browser tests are skipped: a reason, or false. In CI they run, and fail without a browser. */
export const noBrowser = chromiumPath === null && process.env.CI !== 'true' && 'no Chromium here: install it or name it in CHROMIUM';

export const launch = () => chromium.launch({
  executablePath: chromiumPath,
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});

export const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 };
export const DESKTOP = { viewport: { width: 1280, height: 860 } };

const inPseudo = new WeakSet();

/** Notes that the page in a tab speaks the pseudo-locale, so that the tests look for its texts. */
export const speaksPseudo = (tab) => inPseudo.add(tab);

/** A whole English text of the page, as the page in this tab writes it. */
export const whole = (tab, text) => (inPseudo.has(tab) ? pseudo(text) : text);

/** A part of an English text of the page, as the page in this tab writes it. */
export const part = (tab, text) => (inPseudo.has(tab) ? accented(text) : text);

// Looks at a screen as people do who see it badly, by night, or on a small phone.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { DESKTOP, PHONE } from './chromium.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** In the page: waits until nothing moves or fades any more, save what never stops. */
async function settled() {
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  const moving = document.getAnimations().filter((a) => a.effect.getComputedTiming().endTime !== Infinity);
  await Promise.allSettled(moving.map((a) => a.finished));
}

/**
 * look(name, tab): what axe finds, and what is too wide for a phone, goes into look.findings. With a
 * folder, what was looked at is kept there as pictures, for people to look at.
 */
export function accessibility(album = '') {
  const findings = [];
  const looked = [];
  const look = async (name, tab) => {
    await tab.bringToFront();
    await tab.evaluate(axe);
    for (const [width, viewport] of Object.entries({ phone: PHONE, desktop: DESKTOP })) {
      await tab.setViewportSize(viewport);
      for (const colorScheme of ['light', 'dark']) {
        await tab.emulateMedia({ colorScheme, reducedMotion: 'reduce' }); // axe must not measure a fading colour
        await tab.evaluate(settled);
        // Between light and dark nothing differs but colours.
        const only = colorScheme === 'dark' ? ['color-contrast'] : undefined;
        const { violations, passes, incomplete, inapplicable } = await tab.evaluate(
          (runOnly) => globalThis.axe.run({ resultTypes: ['violations'], ...runOnly && { runOnly } }), only);
        const where = `${name}, ${width}, ${colorScheme}`;
        // A picture in full has no text whose colours could be judged: then the rule is said not to apply.
        const looks = only ? violations.length + passes.length + incomplete.length + inapplicable.length : passes.length;
        if (looks < (only?.length ?? 10)) findings.push(`${where}: axe did not look`);
        findings.push(...violations.map((v) => `${where}: ${v.id}: ${v.nodes.map((n) => `${n.html} (${n.any[0]?.message ?? ''})`).join(' ')}`));
        looked.push(where);
        if (album !== '') await tab.screenshot({ path: join(album, `${where.replaceAll(/[^a-z0-9]+/gi, '-')}.png`), fullPage: true });
      }
      const over = await tab.evaluate(() => Math.max(...[document.documentElement, ...document.querySelectorAll('dialog[open]')]
        .map((e) => e.scrollWidth - e.clientWidth)));
      if (over > 0) findings.push(`${name}, ${width}: ${over} px too wide`);
    }
  };
  return Object.assign(look, { findings, looked });
}

// A small chart of a day, one bar an hour. A sentence and a table beside it say the same.

import { number, t } from './catalogue.js';
import { h, svg } from './dom.js';
import { lastDay, moment } from './texts.js';

const HEIGHT = 60;
const WIDTH = 10; // of an hour, with its gap

/** The last 24 hours of one webhook. */
export function chart(hours, now = new Date()) {
  const day = lastDay(hours, now);
  const sum = (what) => day.reduce((total, hour) => total + hour[what], 0);
  const most = Math.max(...day.map((hour) => hour.succeeded + hour.failed));
  if (most === 0) return h('p', { class: 'soft' }, t('chart.none'));
  const summary = t('chart.attempts', { succeeded: sum('succeeded'), failed: sum('failed'), dead_lettered: sum('dead_lettered') });

  const high = (n) => (n === 0 ? 0 : Math.max(2, (n / most) * (HEIGHT - 2)));
  const bars = day.flatMap(({ succeeded, failed }, i) => {
    const x = i * WIDTH + 1;
    const good = high(succeeded);
    const bad = Math.min(high(failed), HEIGHT - good);
    return [
      good > 0 && svg('rect', { class: 'succeeded', x, y: HEIGHT - good, width: WIDTH - 2, height: good }),
      bad > 0 && svg('rect', { class: 'failed', x, y: HEIGHT - good - bad, width: WIDTH - 2, height: bad }),
    ];
  });
  return h('figure', { class: 'chart' },
    svg('svg', { viewBox: `0 0 ${24 * WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': summary },
      svg('rect', { class: 'ground', x: 0, y: HEIGHT - 1, width: 24 * WIDTH, height: 1 }), bars),
    h('div', { class: 'axis soft', 'aria-hidden': 'true' }, h('span', null, moment(day[0].hour, now)), h('span', null, t('chart.most', { count: most })), h('span', null, t('chart.now'))),
    h('figcaption', null, summary),
    h('details', null, h('summary', null, t('chart.numbers')), table(day, now)));
}

function table(day, now) {
  const busy = day.filter((hour) => hour.succeeded + hour.failed + hour.dead_lettered > 0);
  return h('table', null,
    h('thead', null, h('tr', null, ['hour', 'succeeded', 'failed', 'dead_lettered'].map((column) => h('th', { scope: 'col' }, t(`chart.${column}`))))),
    h('tbody', null, busy.map((hour) => h('tr', null, h('th', { scope: 'row' }, moment(hour.hour, now)),
      [hour.succeeded, hour.failed, hour.dead_lettered].map((n) => h('td', null, number(n)))))));
}

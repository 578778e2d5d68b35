// A scenario is a program that a Go test starts. It gets its settings as JSON in its argument, may
// ask the test for deeds outside the browser, and ends with a result: JSON lines on stdin and stdout. Settings
// also name its patience in ms, and a folder for evidence: pictures of the tabs when it fails.

import { createInterface } from 'node:readline';
import { closeDevices, picturesOfTabs } from './chromium.mjs';

/** Runs work(settings, ask); ask(name, value) resolves to the test's answer. */
export async function play(work) {
  const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const tell = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
  const ask = async (name, value = null) => {
    tell({ ask: name, value });
    const { value: line, done } = await answers.next();
    if (done) throw new Error('the test has gone');
    return JSON.parse(line);
  };
  const { patience, evidence, ...settings } = JSON.parse(process.argv[2]);
  const late = new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`not done after ${patience / 1000} s`)), patience).unref();
  });
  try {
    const result = await Promise.race([work(settings, ask), late]);
    tell({ result: result ?? null });
  } catch (err) {
    process.stderr.write(`${err.stack}\n${(await picturesOfTabs(evidence)).join('\n')}\n`);
    process.exitCode = 1;
  }
  await closeDevices();
  process.stdin.destroy();
}

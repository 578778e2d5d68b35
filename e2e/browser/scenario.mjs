// A scenario is a program that a Go test starts. It gets its settings as JSON in its argument, may
// ask the test for deeds outside the browser, and ends with a result: JSON lines on stdin and stdout.

import { createInterface } from 'node:readline';

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
  const result = await work(JSON.parse(process.argv[2]), ask);
  tell({ result: result ?? null });
  process.stdin.destroy();
}

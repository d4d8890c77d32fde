// One Worker in workerd, by miniflare: a program of Node, which prints its address when it answers.
import { readFileSync } from 'node:fs';
import { Miniflare } from 'miniflare';

const { file, bindings, hyperdrives, date } = JSON.parse(process.argv[2] ?? '{}');
const worker = new Miniflare({
  host: '127.0.0.1',
  port: 0,
  modules: [{ type: 'ESModule', path: 'bundle.mjs', contents: readFileSync(file, 'utf8') }],
  compatibilityDate: date,
  compatibilityFlags: ['nodejs_compat'],
  bindings,
  hyperdrives,
});
const url = await worker.ready;
process.stdout.write(`ready ${url.origin}\n`);
process.on('SIGTERM', () => void worker.dispose().then(() => process.exit(0)));

import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { measureBeside, measureGuards } from './beside.ts';
import { measureCallers } from './callers.ts';
import { measureCalls } from './calls.ts';
import { measureLists } from './lists.ts';
import { sharesMeter, describeMachine } from './machine.ts';
import { startOurs } from './ours.ts';
import { findPeers, startPeer } from './peers.ts';
import { measureRegistry } from './registry.ts';
import { render, type Section } from './report.ts';
import { measureRuntimes } from './runtimes.ts';
import { measureDeploys } from './scripts.ts';
import type { Target } from './target.ts';
import { createDatabase, TOOLS } from './workload.ts';
import { hasWrk, WRK_MISSING } from './wrk.ts';

/**
 * Everything that is measured, in one run, written to RESULTS.md.
 * `bun run bench [--quick] [--only=calls,beside,lists,guards,callers,runtimes,registry,deploys] [--out=FILE]`
 */
const PARTS = ['calls', 'beside', 'lists', 'guards', 'callers', 'runtimes', 'registry', 'deploys'] as const;
type Part = (typeof PARTS)[number];

const flags = process.argv.slice(2);
const quick = flags.includes('--quick');
const value = (name: string): string | undefined => flags.find((flag) => flag.startsWith(`--${name}=`))?.slice(name.length + 3);
const chosen: readonly string[] = value('only')?.split(',') ?? PARTS;
const out = value('out') ?? fileURLToPath(new URL('RESULTS.md', import.meta.url));
const say = (text: string): void => void process.stderr.write(`${text}\n`);
const wants = (part: Part): boolean => chosen.includes(part);

const SIZE = quick
  ? { rows: 100_000, rounds: 1, seconds: 1, sizes: [10, 100], deploys: 5 }
  : { rows: 1_000_000, rounds: 3, seconds: 2, sizes: [10, 100, 1_000], deploys: 50 };

const began = performance.now();
const notes: string[] = [];
const sections: Section[] = [];
const missing = hasWrk() ? null : WRK_MISSING;
if (missing !== null) notes.push('', missing);
const peers =
  missing === null && ['calls', 'beside', 'lists'].some((part) => chosen.includes(part)) ? await findPeers(say) : null;
if (peers === null) notes.push('', 'Without the other servers: they could not be fetched, or were not asked for.');
if (quick) notes.push('', 'A quick run: few and short rounds, for a look and not for the record.');
const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;
const shares = sharesMeter();
await Bun.sleep(2_000);
notes.push('', `Before the run began, ${percent(shares().busy)} of the machine was busy with other work.`);
/** While something was measured. */
const stolen: string[] = [];
const noteStolen = (what: string): void => void stolen.push(`${percent(shares().stolen)} during ${what}`);

const database = await createDatabase(SIZE.rows);
say(`The database is ready: ${SIZE.rows} rows.`);
try {
  const options = { rounds: SIZE.rounds, seconds: SIZE.seconds, say };
  if (missing === null && (wants('calls') || wants('beside'))) {
    await measureTargets(options);
    noteStolen('calls');
  }
  if (missing === null && wants('lists')) {
    sections.push(await measureLists(database, { peers, seconds: SIZE.seconds, sizes: SIZE.sizes, say }));
  }
  if (missing === null && wants('guards'))
    sections.push(await measureGuards(database, { ...options, rounds: SIZE.rounds * 2 - 1 }));
  if (missing === null && wants('callers')) sections.push(await measureCallers(database, options));
  if (missing === null && wants('runtimes')) sections.push(await measureRuntimes(database, options));
  if (wants('registry')) sections.push(await measureRegistry([10, 100, 1_000, 5_000]));
  if (wants('deploys')) sections.push(...(await measureDeploys({ postgres: database.url, deploys: SIZE.deploys, quick, say })));
} finally {
  await database.drop();
}
noteStolen('the rest');
notes.push('', `Other machines on the same hardware took of the processors' time: ${stolen.join(', ')}.`);
const text = render(describeMachine(database.version), notes, sections);
writeFileSync(out, text);
process.stdout.write(text);
say(`Done in ${((performance.now() - began) / 60_000).toFixed(1)} minutes; written to ${out}.`);
process.exit(0);

async function measureTargets(options: { rounds: number; seconds: number; say: typeof say }): Promise<void> {
  const offer = { tools: Object.values(TOOLS) };
  const started: Target[] = [];
  try {
    const ours = await startOurs(database, { ...offer, bearer: true });
    started.push(ours);
    if (peers !== null)
      for (const peer of ['toolbox', 'dbhub'] as const) started.push(await startPeer(peer, peers, database, offer));
    const others = started.slice(1);
    if (wants('calls')) sections.push(await measureCalls(database, ours, others, options));
    if (wants('beside')) sections.push(await measureBeside(database, ours, others, options));
  } finally {
    for (const target of started) await target.stop();
  }
}

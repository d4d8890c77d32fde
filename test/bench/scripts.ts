import { fileURLToPath } from 'node:url';
import type { Gate, Say, Section } from './report.ts';

export interface ScriptsOptions {
  /** A database with the table of the deploy bench. */
  readonly postgres: string;
  readonly deploys: number;
  readonly quick: boolean;
  readonly say: Say;
}

/** The benches that stand for themselves: deploys of few and many tools, deploys under load, templates. */
export async function measureDeploys({ postgres, deploys, quick, say }: ScriptsOptions): Promise<Section[]> {
  const sizes = quick ? [10, 100] : [10, 100, 500, 1_000, 5_000];
  const tables: string[] = [];
  for (const size of sizes) {
    tables.push(await run('deploy.ts', [String(size), String(size > 1_000 ? 10 : deploys)]));
    say(`Deploys of ${size} tools done.`);
  }
  tables.push(await run('deploy.ts', [String(quick ? 100 : 500), String(deploys), postgres]));
  const whole = joined(tables);
  const swap = await run('swap.ts', [String(deploys), '16']);
  say('Deploys under load done.');
  const template = await run('template.ts', []);
  return [
    { title: 'Deploy: one of many tools changed', text: `${DEPLOY}\n\n${whole}`, gates: deployGates(whole) },
    { title: 'Deploys while 16 callers call without a pause', text: swap, gates: swapGates(swap) },
    { title: 'Templates', text: template, gates: [] },
  ];
}

const DEPLOY = `The whole REST call (read, check on the database, freeze, store, send, load, keep on the host's disk, acknowledge), after which the
change is visible to clients, and the host's part (parse and swap) of it.`;

async function run(script: string, args: readonly string[]): Promise<string> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const child = Bun.spawn([process.execPath, path, ...args], { stdout: 'pipe', stderr: 'inherit' });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`${script} failed.`);
  return text.trim();
}

/** Tables with the same head as one. */
const joined = (tables: readonly string[]): string =>
  [...(tables[0]?.split('\n').slice(0, 2) ?? []), ...tables.flatMap((text) => text.split('\n').slice(2))].join('\n');

const cellsOf = (table: string): string[][] =>
  table
    .split('\n')
    .slice(2)
    .map((line) =>
      line
        .split('|')
        .map((cell) => cell.trim())
        .slice(1, -1),
    );

function deployGates(table: string): Gate[] {
  return cellsOf(table)
    .filter(([tools]) => tools === '500')
    .map(([, database, , , , , p95]) => ({
      what: `deploy of 500 tools until the change is visible, p95, ${database}`,
      target: '≤ 50 ms',
      measured: `${p95} ms`,
      met: Number(p95) <= 50,
      bound: '0.9 MB of JSON: hashed, stored with an fsync, sent, parsed, kept with an fsync',
    }));
}

function swapGates(table: string): Gate[] {
  return cellsOf(table).flatMap(([database, deploys, , , lost, , , , before, after]) => [
    {
      what: `${deploys} deploys under load, ${database}: lost calls`,
      target: '0',
      measured: String(lost),
      met: lost === '0',
      bound: 'a swap is one assignment, pools outlive it',
    },
    {
      what: `${deploys} deploys under load, ${database}: sessions after, before ${before}`,
      target: `≤ ${before}`,
      measured: String(after),
      met: Number(after) <= Number(before),
      bound: 'pools are kept by the hash of their settings',
    },
  ]);
}

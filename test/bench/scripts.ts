import { fileURLToPath } from 'node:url';
import { cellsOf, type Gate, limitGate, ratioGate, type Say, type Section } from './report.ts';

export interface ScriptsOptions {
  /** A database with the table of the deploy bench. */
  readonly postgres: string;
  readonly deploys: number;
  readonly quick: boolean;
  readonly say: Say;
}

/** The benches that stand for themselves: deploys of few and many tools, deploys under load, templates. */
export async function measureDeploys({ postgres, deploys, quick, say }: ScriptsOptions): Promise<Section[]> {
  const sizes = quick ? [10, 1_000] : [10, 100, 500, 1_000, 10_000];
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

/** Deploys of a server of ten tools are the measure for those of larger ones. */
export function deployGates(text: string): Gate[] {
  const rows = cellsOf(text);
  const p95Of = (tools: number) => {
    const found = rows.find((cell) => cell('tools') === String(tools) && cell('database').startsWith('SQLite'));
    return found === undefined ? Number.NaN : Number(found('deploy p95 ms'));
  };
  const larger = (
    [
      [1_000, 1.5],
      [10_000, 3],
    ] as const
  ).filter(([tools]) => !Number.isNaN(p95Of(tools)));
  return [
    ...rows
      .filter((cell) => cell('tools') === '500')
      .map((cell) =>
        limitGate(
          `deploy of 500 tools until the change is visible, p95, ${cell('database')}`,
          Number(cell('deploy p95 ms')),
          50,
          'ms',
          '0.9 MB of JSON: hashed, stored with an fsync, sent, parsed, stored again with an fsync',
        ),
      ),
    ...larger.map(([tools, limit]) =>
      ratioGate(
        `deploy of one of ${tools} tools, p95, to one of 10`,
        p95Of(tools),
        p95Of(10),
        '<=',
        limit,
        'the list of the entities is hashed and stored as a whole',
      ),
    ),
  ];
}

export function swapGates(text: string): Gate[] {
  return cellsOf(text).flatMap((cell) => [
    {
      what: `${cell('deploys')} deploys under load, ${cell('database')}: lost calls`,
      target: '0',
      measured: cell('lost'),
      met: cell('lost') === '0',
      bound: 'a swap is one assignment, pools outlive it',
    },
    {
      what: `${cell('deploys')} deploys under load, ${cell('database')}: sessions after, before ${cell('sessions before')}`,
      target: `≤ ${cell('sessions before')}`,
      measured: cell('sessions after'),
      met: Number(cell('sessions after')) <= Number(cell('sessions before')),
      bound: 'pools are kept by the hash of their settings',
    },
  ]);
}

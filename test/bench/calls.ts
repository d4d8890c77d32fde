import { digits, type Gate, median, ratioGate, type Say, type Section, table } from './report.ts';
import type { Ours } from './ours.ts';
import { runRaw } from './raw.ts';
import { probe, type Target } from './target.ts';
import { type BenchDatabase, callBody, type ToolKey, TOOLS } from './workload.ts';
import { runWrk } from './wrk.ts';

export interface CallsOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly say: Say;
}

/** Medians over the rounds. */
export interface Figures {
  rps: number;
  p50_ms: number;
  p99_ms: number;
  /** Seconds of processor time of the server's programs for 10 000 calls. */
  cpu_s: number;
  /** The same of our host alone. */
  host_cpu_s: number;
  errors: number;
}

/** The database driver with no server around it. */
const DRIVER = 'driver alone';
const KEYS = ['lookup', 'range', 'stats'] as const satisfies readonly ToolKey[];
const CALLERS = [1, 16, 64];
const PACED = { connections: 16, think_ms: 20 };
/** Of few calls a second the slowest hundredth is few: they are taken more often, in turns. */
const PACED_TURNS = 4;
/** Programs that compile while they run are measured as they are after some ten thousand calls, all alike. */
const WARM = { connections: 16, seconds: 4 };
/** Calls that are still on their way into the log of calls when the load ends are counted too. */
const SETTLE_MS = 1_000;

export async function measureCalls(
  database: BenchDatabase,
  ours: Ours,
  peers: readonly Target[],
  { rounds, seconds, say }: CallsOptions,
): Promise<Section> {
  const targets: readonly Target[] = [ours, ...peers];
  const span = database.rows - 20_000;
  const found = new Map<string, Figures[]>();
  const note = (key: string, figures: Figures) => found.set(key, [...(found.get(key) ?? []), figures]);
  for (const target of targets) for (const key of KEYS) await probe(target, callBody(TOOLS[key].name, 7), /"result"/);

  for (const target of targets) {
    for (const key of KEYS) await runWrk({ url: target.url, headers: target.headers, tool: TOOLS[key].name, span, ...WARM });
  }

  const load = async (target: Target, key: ToolKey, pace: { connections: number; think_ms?: number }, label: string) => {
    const asked = { url: target.url, headers: target.headers, tool: TOOLS[key].name, span, ...pace };
    // Later rounds find the programs warm.
    if (!found.has(`${key} ${label} ${target.name}`)) await runWrk({ ...asked, seconds: 1 });
    const is_ours = target === ours;
    const before = { all: target.measure().cpu_s, host: ours.measureHost().cpu_s };
    const loaded = await runWrk({ ...asked, seconds: pace.think_ms === undefined ? seconds : seconds * 2 });
    if (is_ours) await Bun.sleep(SETTLE_MS);
    const each = (cpu_s: number) => (cpu_s / loaded.calls) * 10_000;
    note(`${key} ${label} ${target.name}`, {
      ...loaded,
      cpu_s: each(target.measure().cpu_s - before.all),
      host_cpu_s: is_ours ? each(ours.measureHost().cpu_s - before.host) : Number.NaN,
    });
  };
  for (let round = 1; round <= rounds; round++) {
    for (const key of KEYS) {
      for (const connections of CALLERS) {
        // Who begins changes with the round.
        const order = round % 2 === 0 ? targets.toReversed() : targets;
        for (const target of order) await load(target, key, { connections }, String(connections));
        const raw = await runRaw(database, TOOLS[key].sql, connections, seconds);
        note(`${key} ${connections} ${DRIVER}`, { ...raw, cpu_s: (raw.cpu_s / raw.calls) * 10_000, host_cpu_s: Number.NaN });
      }
    }
    for (const key of ['lookup', 'range'] as const) {
      for (let turn = 0; turn < PACED_TURNS; turn++) {
        for (const target of turn % 2 === 0 ? targets : targets.toReversed()) await load(target, key, PACED, 'paced');
      }
    }
    say(`tools/call: round ${round} of ${rounds} done.`);
  }
  return toSection(found, [...targets.map(({ name }) => name), DRIVER]);
}

export function toSection(found: ReadonlyMap<string, readonly Figures[]>, names: readonly string[]): Section {
  const at = (key: string, label: string | number, name: string): Figures | null => {
    const all = found.get(`${key} ${label} ${name}`);
    if (all === undefined) return null;
    const middle = (of: keyof Figures) => median(all.map((one) => one[of]));
    return {
      rps: middle('rps'),
      p50_ms: middle('p50_ms'),
      p99_ms: middle('p99_ms'),
      cpu_s: middle('cpu_s'),
      host_cpu_s: middle('host_cpu_s'),
      errors: all.reduce((sum, { errors }) => sum + errors, 0),
    };
  };
  const parts = KEYS.flatMap((key) => {
    const labels = [...CALLERS, ...(key === 'stats' ? [] : ['paced'])];
    const rows = labels.flatMap((label) =>
      names.flatMap((name) => {
        const figures = at(key, label, name);
        if (figures === null) return [];
        const base = at(key, label, 'Toolbox');
        const { rps, p50_ms, p99_ms, cpu_s, host_cpu_s, errors } = figures;
        const times = (of: 'rps' | 'p99_ms' | 'cpu_s') => (base === null ? '–' : `${digits(figures[of] / base[of])} ×`);
        const cpu = Number.isNaN(host_cpu_s) ? digits(cpu_s) : `${digits(cpu_s)} (host ${digits(host_cpu_s)})`;
        return [
          [label, name, digits(rps), digits(p50_ms), digits(p99_ms), cpu, errors, times('rps'), times('p99_ms'), times('cpu_s')],
        ];
      }),
    );
    const head = [
      'callers',
      'target',
      'calls/s',
      'p50 ms',
      'p99 ms',
      'CPU s per 10 000',
      'errors',
      'calls/s to Toolbox',
      'p99',
      'CPU',
    ];
    return [`### ${TOOLS[key].title}`, '', table(head, rows), ''];
  });
  return { title: 'tools/call', text: [ABOUT, '', ...parts].join('\n').trimEnd(), gates: gatesOf(at) };
}

const ABOUT = `All on one PostgreSQL with 4 sessions (DBHub: its default), the same client (wrk, one thread, random argument). Ours: bearer
authentication, validation and the log of calls on. CPU is that of all programs of a server: for ours host, control plane, which stores
every call, and agent; the host alone in brackets. Paced: 16 connections that pause 20 ms in the mean, about 800 calls/s. Driver alone:
postgres.js with 4 sessions and JSON.stringify, no protocol around it.`;

function gatesOf(at: (key: string, label: string | number, name: string) => Figures | null): Gate[] {
  const gates: Gate[] = [];
  const add = (
    key: 'lookup' | 'range',
    label: string | number,
    of: keyof Figures,
    sign: '>=' | '<=',
    limit: number,
    bound: string,
    peer = 'Toolbox',
  ) => {
    const ours = at(key, label, 'Sluice');
    const other = at(key, label, peer);
    if (ours === null || other === null) return;
    const load = label === 'paced' ? 'paced at 800/s' : `c = ${label}`;
    const base = of === 'host_cpu_s' ? other.cpu_s : other[of];
    gates.push(ratioGate(`${TOOLS[key].title}, ${load}: ${UNITS[of] ?? of} to ${peer}`, ours[of], base, sign, limit, bound));
  };
  const box = 'two cores shared with the database and the client';
  const path = 'HTTP, queue and the reading of rows in one thread';
  const storing = 'every call is also stored in the log of calls, in another program';
  add('lookup', 64, 'rps', '>=', 2.3, box);
  add('lookup', 64, 'rps', '>=', 0.7, box, DRIVER);
  add('lookup', 64, 'host_cpu_s', '<=', 0.42, path);
  add('lookup', 64, 'cpu_s', '<=', 0.45, storing);
  for (const callers of CALLERS) add('lookup', callers, 'p99_ms', '<=', 0.7, box);
  const single = at('lookup', 1, 'Sluice');
  if (single !== null)
    gates.push(ratioGate(`${TOOLS.lookup.title}, c = 1: p99 to p50`, single.p99_ms, single.p50_ms, '<=', 8, box));
  add('range', 64, 'rps', '>=', 3, box);
  add('range', 64, 'host_cpu_s', '<=', 0.25, 'the reply carries the rows twice: as text and as structured content');
  add('range', 64, 'cpu_s', '<=', 0.25, storing);
  for (const key of ['lookup', 'range'] as const) {
    add(key, 'paced', 'p50_ms', '<=', 1, path);
    add(key, 'paced', 'p99_ms', '<=', 1, 'not established: it differs by half from run to run');
  }
  return gates;
}

const UNITS: Readonly<Partial<Record<keyof Figures, string>>> = {
  rps: 'calls/s',
  host_cpu_s: 'CPU per call of the host',
  cpu_s: 'CPU per call of all programs',
  p50_ms: 'p50',
  p99_ms: 'p99',
};

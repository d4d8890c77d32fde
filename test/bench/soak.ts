import { appendFileSync } from 'node:fs';
import { row } from './figures.ts';
import { startOurs } from './ours.ts';
import { JSON_TYPES } from './target.ts';
import { callBody, createDatabase, TOOLS } from './workload.ts';
import { until } from '#test/support/programs.ts';

/**
 * Hours in small: callers of every kind, deploys, cancels and bad input, for some minutes; memory, descriptors and database
 * sessions over the time. `bun test/bench/soak.ts [minutes] [file to append the table to]`
 */
const [minutes = 10] = process.argv.slice(2, 3).map(Number);
const file = process.argv[3];

const WINDOWS = 20;
const ABOUT = `Eight callers, large results, callers that leave, bad input and strangers, sessions that come and go, a deploy every two
seconds. Memory is resident memory, its least and most of each twentieth of the time; the growth is that of the least over the last two
thirds, with its standard error. "At the end" is seconds after the load.`;

const database = await createDatabase(200_000);
const ours = await startOurs(database, { tools: Object.values(TOOLS), bearer: true });
const counts = { calls: 0, deploys: 0, cancels: 0, refused: 0, failed: 0 };
const state = { running: true };
const headers = { ...JSON_TYPES, ...ours.headers };
const any = (most: number) => Math.ceil(Math.random() * most);

const send = (body: string, more: RequestInit = {}) => fetch(ours.url, { method: 'POST', headers, body, ...more });
const every = async (pause_ms: number, work: () => Promise<void>) => {
  while (state.running) {
    await work();
    if (pause_ms > 0) await Bun.sleep(pause_ms);
  }
};

const caller = async () => {
  const tool = [TOOLS.lookup, TOOLS.lookup, TOOLS.range, TOOLS.stats][any(4) - 1] ?? TOOLS.lookup;
  const answer = await send(callBody(tool.name, any(150_000)));
  const text = await answer.text();
  counts.calls++;
  if (answer.status !== 200 || !text.includes('"structuredContent"')) counts.failed++;
};
const large = async () => void (await (await send(callBody(TOOLS.large.name, any(150_000)))).text());
/** Leaves in the middle of a large result. */
const leaver = async () => {
  const leaving = new AbortController();
  const answer = send(callBody(TOOLS.large.name, any(150_000)), { signal: leaving.signal }).catch(() => null);
  await Bun.sleep(any(30));
  leaving.abort();
  await answer;
  counts.cancels++;
};
const BAD: readonly string[] = [
  '{',
  '[]',
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nobody"}}',
  callBody(TOOLS.lookup.name, '"no number"'),
  callBody(TOOLS.lookup.name, '1e400'),
  '{"jsonrpc":"2.0","id":1,"method":"no/such"}',
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${'x'.repeat(10_000)}"}}`,
];
const bad = async () => {
  const answer = await send(BAD[any(BAD.length) - 1] ?? '');
  const text = await answer.text();
  if (answer.status >= 500 || text === '') counts.failed++;
  const stranger = await fetch(ours.url, {
    method: 'POST',
    headers: { ...headers, authorization: 'Bearer svc_mcp_nobody' },
    body: BAD[2]!,
  });
  if (stranger.status !== 401 && stranger.status !== 429) counts.failed++;
  await stranger.text();
  counts.refused += 2;
};
const session = async () => {
  const hello = await send(
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"soak","version":"1"}}}',
  );
  await hello.text();
  const id = hello.headers.get('mcp-session-id') ?? '';
  const more = { headers: { ...headers, 'mcp-session-id': id } };
  await (await send(callBody(TOOLS.lookup.name, any(150_000)), more)).text();
  await (await fetch(ours.url, { method: 'DELETE', headers: more.headers })).text();
};
const tools = (await ours.programs.api<{ items: { id: string; name: string }[] }>('GET', '/tools')).items;
const deploy = async () => {
  const { id } = tools[counts.deploys % tools.length] ?? { id: '' };
  await ours.programs.api('PATCH', `/tools/${id}`, { description: `Changed ${counts.deploys}` });
  await ours.programs.api('POST', '/deploy', {});
  counts.deploys++;
};

interface Sample {
  readonly minute: number;
  readonly host_mib: number;
  readonly all_mib: number;
  readonly descriptors: number;
  readonly sessions: number;
}
const samples: Sample[] = [];
const began = performance.now();
const sample = async () => {
  const host = ours.measureHost();
  samples.push({
    minute: (performance.now() - began) / 60_000,
    host_mib: host.rss_mib,
    all_mib: ours.measure().rss_mib,
    descriptors: host.descriptors,
    sessions: await database.sessions(),
  });
};

await sample();
const work = [
  ...Array.from({ length: 8 }, () => every(0, caller)),
  every(200, large),
  every(100, leaver),
  every(20, bad),
  every(50, session),
  every(2_000, deploy),
  every(2_000, sample),
];
await Bun.sleep(minutes * 60_000);
state.running = false;
await Promise.all(work);
const busy = samples.at(-1);
await until(async () => (await database.sessions()) <= 4, 10_000).catch(() => undefined);
await Bun.sleep(2_000);
await sample();

const text = report();
process.stdout.write(text);
if (file !== undefined) appendFileSync(file, `\n${text}`);
await ours.stop();
await database.drop();
process.exit(counts.failed === 0 ? 0 : 1);

function report(): string {
  const last = samples.at(-1);
  const windows = windowsOf(samples.slice(1, -1));
  // What is warmed up and cached in the first third belongs to the start.
  const later = windows.slice(Math.round(windows.length / 3));
  const growth = (name: 'host_mib' | 'all_mib') => {
    const { slope, error } = fitted(later.map(({ minute, ...of }) => [minute, of[name].least]));
    return `${(slope * 60).toFixed(0)} ± ${(error * 60).toFixed(0)}`;
  };
  const head = [
    'minutes',
    'calls',
    'deploys',
    'cancels',
    'refused',
    'failed',
    'growth of the host, MiB/hour',
    'of all programs',
    'host MiB at the end',
    'descriptors under load',
    'after',
    'database sessions after',
  ];
  const cells = [
    minutes,
    counts.calls,
    counts.deploys,
    counts.cancels,
    counts.refused,
    counts.failed,
    growth('host_mib'),
    growth('all_mib'),
    last?.host_mib.toFixed(0) ?? '',
    busy?.descriptors ?? '',
    last?.descriptors ?? '',
    last?.sessions ?? '',
  ];
  const span = ({ least, most }: Span) => `${least.toFixed(0)}–${most.toFixed(0)}`;
  const lines = windows.map(({ minute, host_mib, all_mib, descriptors, sessions }) =>
    row([minute.toFixed(1), span(host_mib), span(all_mib), descriptors, sessions]),
  );
  return [
    '## Soak',
    '',
    ABOUT,
    '',
    row(head),
    row(head.map(() => '---')),
    row(cells),
    '',
    row(['minute', 'host MiB', 'all MiB', 'descriptors', 'database sessions']),
    row(['---', '---', '---', '---', '---']),
    ...lines,
    '',
  ].join('\n');
}

interface Span {
  readonly least: number;
  readonly most: number;
}
interface Window {
  readonly minute: number;
  readonly host_mib: Span;
  readonly all_mib: Span;
  readonly descriptors: number;
  readonly sessions: number;
}

/** A twentieth of the time each: between two collections memory rises whatever is kept, so that only its least says something. */
function windowsOf(of: readonly Sample[]): Window[] {
  const length = minutes / WINDOWS;
  return Array.from({ length: WINDOWS }, (_, n) => of.filter(({ minute }) => Math.floor(minute / length) === n)).flatMap(
    (inside, n) => {
      const last = inside.at(-1);
      const spanOf = (name: 'host_mib' | 'all_mib') => {
        const values = inside.map((one) => one[name]);
        return { least: Math.min(...values), most: Math.max(...values) };
      };
      if (last === undefined) return [];
      const { descriptors, sessions } = last;
      const minute = (n + 0.5) * length;
      return [{ minute, host_mib: spanOf('host_mib'), all_mib: spanOf('all_mib'), descriptors, sessions }];
    },
  );
}

/** By least squares; the error is the standard one of the slope. */
function fitted(points: readonly (readonly [number, number])[]): { slope: number; error: number } {
  const mean = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0) / Math.max(1, values.length);
  const x = mean(points.map(([at]) => at));
  const y = mean(points.map(([, value]) => value));
  const below = points.reduce((sum, [at]) => sum + (at - x) ** 2, 0);
  const slope = points.reduce((sum, [at, value]) => sum + (at - x) * (value - y), 0) / below;
  const rest = points.reduce((sum, [at, value]) => sum + (value - y - slope * (at - x)) ** 2, 0);
  return { slope, error: Math.sqrt(rest / Math.max(1, points.length - 2) / below) };
}

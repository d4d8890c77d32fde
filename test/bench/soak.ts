import { appendFileSync } from 'node:fs';
import { row } from './figures.ts';
import { createLiveHeap } from './live-heap.ts';
import { measureTree } from './machine.ts';
import { startOurs } from './ours.ts';
import { JSON_TYPES } from './target.ts';
import { callBody, createDatabase, TOOLS } from './workload.ts';
import { until } from '#test/support/until.ts';

/**
 * Hours in small: callers of every kind, deploys, cancels and bad input, for some minutes; memory, descriptors and database
 * sessions over the time. `bun test/bench/soak.ts [minutes] [file to append the table to]`
 */
const [minutes = 10] = process.argv.slice(2, 3).map(Number);
const file = process.argv[3];

const WINDOWS = 20;
const ABOUT = `Eight callers, large results, callers that leave, bad input and strangers, sessions that come and go, a deploy every two
seconds. Memory is resident memory, its least and most of each twentieth of the time; the growth is that of the least over the last two
thirds, with its standard error. Alive is what JavaScript holds after full collections, asked a minute after the start, twice under
load, and seconds after the load, as everything "at the end"; in the server 256 MiB of it are the room of the SQL parser's WebAssembly,
most of it never touched.`;

const database = await createDatabase(200_000);
const heap = createLiveHeap();
const ours = await startOurs(database, { tools: Object.values(TOOLS), bearer: true, env: heap.env });
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
  readonly server_mib: number;
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
    server_mib: measureTree([ours.server_pid]).rss_mib,
    descriptors: host.descriptors,
    sessions: await database.sessions(),
  });
};

/** MiB that are alive in the host and in the server. */
const alive: { readonly minute: number; readonly host: number; readonly server: number }[] = [];
const askAlive = async () => {
  const minute = (performance.now() - began) / 60_000;
  alive.push({ minute, host: await heap.ask(ours.host_pid), server: await heap.ask(ours.server_pid) });
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
for (const until_minute of [Math.min(1, minutes / 4), minutes / 3, (minutes * 2) / 3, minutes]) {
  await Bun.sleep(Math.max(0, until_minute * 60_000 - (performance.now() - began)));
  if (until_minute < minutes) await askAlive();
}
state.running = false;
await Promise.all(work);
const busy = samples.at(-1);
await until(async () => (await database.sessions()) <= 4).catch(() => undefined);
await Bun.sleep(2_000);
await sample();
await askAlive();

const text = report();
process.stdout.write(text);
if (file !== undefined) appendFileSync(file, `\n${text}`);
await ours.stop();
heap.close();
await database.drop();
process.exit(counts.failed === 0 ? 0 : 1);

function report(): string {
  const last = samples.at(-1);
  const windows = windowsOf(samples.slice(1, -1));
  // What is warmed up and cached in the first third belongs to the start.
  const later = windows.slice(Math.round(windows.length / 3));
  const growth = (name: 'host_mib' | 'server_mib') => {
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
    'of the server',
    'host MiB at the end',
    'server MiB at the end',
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
    growth('server_mib'),
    last?.host_mib.toFixed(0) ?? '',
    last?.server_mib.toFixed(0) ?? '',
    busy?.descriptors ?? '',
    last?.descriptors ?? '',
    last?.sessions ?? '',
  ];
  const span = ({ least, most }: Span) => `${least.toFixed(0)}–${most.toFixed(0)}`;
  const lines = windows.map(({ minute, host_mib, server_mib, descriptors, sessions }) =>
    row([minute.toFixed(1), span(host_mib), span(server_mib), descriptors, sessions]),
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
    row(['minute', 'host MiB', 'server MiB', 'descriptors', 'database sessions']),
    row(['---', '---', '---', '---', '---']),
    ...lines,
    '',
    row(['minute', 'alive in the host, MiB', 'alive in the server, MiB']),
    row(['---', '---', '---']),
    ...alive.map(({ minute, host, server }) => row([minute.toFixed(1), host.toFixed(1), server.toFixed(1)])),
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
  readonly server_mib: Span;
  readonly descriptors: number;
  readonly sessions: number;
}

/** A twentieth of the time each: between two collections memory rises whatever is kept, so that only its least says something. */
function windowsOf(of: readonly Sample[]): Window[] {
  const length = minutes / WINDOWS;
  return Array.from({ length: WINDOWS }, (_, n) => of.filter(({ minute }) => Math.floor(minute / length) === n)).flatMap(
    (inside, n) => {
      const last = inside.at(-1);
      const spanOf = (name: 'host_mib' | 'server_mib') => {
        const values = inside.map((one) => one[name]);
        return { least: Math.min(...values), most: Math.max(...values) };
      };
      if (last === undefined) return [];
      const { descriptors, sessions } = last;
      const minute = (n + 0.5) * length;
      return [{ minute, host_mib: spanOf('host_mib'), server_mib: spanOf('server_mib'), descriptors, sessions }];
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

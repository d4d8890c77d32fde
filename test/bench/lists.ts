import { digits, limitGate, median, ratioGate, type Gate, type Say, type Section, table } from './report.ts';
import { measureTree } from './machine.ts';
import { startOurs } from './ours.ts';
import { startPeer } from './peers.ts';
import { JSON_TYPES, LIST_BODY, type Target } from './target.ts';
import { startHostAlone } from './host-alone.ts';
import { type BenchDatabase, TOOLS } from './workload.ts';
import { runWrk } from './wrk.ts';

export interface ListsOptions {
  readonly peers: string | null;
  readonly seconds: number;
  readonly sizes: readonly number[];
  readonly say: Say;
}

interface Start {
  readonly ready_ms: number;
  readonly idle_mib: number;
  readonly loaded_mib: number;
}

/** What the official client accepts in Node.js and in browsers, by way of `fetch`. */
const FETCH_ENCODINGS = 'gzip, deflate';
const LISTED = `tools/list, 16 connections, all tools in one reply, asked for under the id 1 and with the encodings that the official client
accepts by way of \`fetch\`; the load generator does not unpack what it gets. Ours keeps the answers to the ids asked for last, so it is
measured under ids that never come again too, and for clients that take no gzip:`;

/** tools/list, and what starts and memory cost, with few and many tools. */
export async function measureLists(database: BenchDatabase, options: ListsOptions): Promise<Section> {
  const { peers, seconds, sizes, say } = options;
  const rows: (string | number)[][] = [];
  const memory: (string | number)[][] = [];
  const gates: Gate[] = [];
  for (const size of sizes) {
    const offer = { tools: [TOOLS.lookup], filler: size - 1 };
    const ours = await startOurs(database, { ...offer, bearer: true, toolset: true });
    const targets: Target[] = [ours];
    try {
      if (peers !== null)
        for (const peer of ['toolbox', 'dbhub'] as const) targets.push(await startPeer(peer, peers, database, offer));
      const rps = new Map<string, number>();
      const measure = async (target: Target, name: string, body: string, encoding: string) => {
        const headers = { ...target.headers, 'accept-encoding': encoding };
        const load = { url: target.url, headers, body, span: 1_000_000, connections: 16 };
        await runWrk({ ...load, seconds: 1 });
        const before = target.measure().cpu_s;
        const loaded = await runWrk({ ...load, seconds });
        const cpu = ((target.measure().cpu_s - before) / loaded.calls) * 10_000;
        rps.set(name, loaded.rps);
        const kib = (await sizeOf(target, encoding)) / 1_024;
        const times = [digits(loaded.rps), digits(loaded.p50_ms), digits(loaded.p99_ms), digits(cpu)];
        rows.push([size, name, digits(kib), ...times, loaded.errors]);
      };
      const other_ids = LIST_BODY.replace('"id":1', '"id":@');
      for (const target of targets) {
        await measure(target, target.name, LIST_BODY, FETCH_ENCODINGS);
        if (target.name !== 'Sluice') continue;
        await measure(target, 'Sluice, other ids', other_ids, FETCH_ENCODINGS);
        await measure(target, 'Sluice, no gzip', LIST_BODY, 'identity');
        await measure(target, 'Sluice, no gzip, other ids', other_ids, 'identity');
        await measure({ ...ours, headers: ours.limited ?? {} }, 'Sluice, limited to a toolset', LIST_BODY, FETCH_ENCODINGS);
      }
      if (size === 1_000) {
        const [limited, whole] = [rps.get('Sluice, limited to a toolset') ?? 0, rps.get('Sluice') ?? 0];
        const what = 'tools/list of 1 000 tools in a toolset: requests/s to those of a caller that sees everything';
        gates.push(ratioGate(what, limited, whole, '>=', 0.91, 'a look-up of the rights'));
      }
      const toolbox = rps.get('Toolbox');
      for (const [name, what, bound] of [
        ['Sluice', 'tools/list of 1 000 tools: requests/s to Toolbox', 'the client'],
        ['Sluice, no gzip', 'the same for clients that take no gzip', 'with output schemas the reply is three times as long'],
      ] as const) {
        if (size !== 1_000 || toolbox === undefined) continue;
        gates.push(ratioGate(what, rps.get(name) ?? 0, toolbox, '>=', 15, bound));
      }
    } finally {
      for (const target of targets) await target.stop();
    }
    say(`tools/list with ${size} tools done.`);
  }
  for (const size of [3, 1_000].filter((one) => one === 3 || sizes.includes(one))) {
    const ours = await startsOfOurs(database, size);
    const toolbox = peers === null ? null : await startsOfToolbox(database, peers, size);
    for (const [name, start] of [
      ['Sluice host', ours],
      ['Toolbox', toolbox],
    ] as const) {
      if (start !== null) memory.push([size, name, digits(start.ready_ms), digits(start.idle_mib), digits(start.loaded_mib)]);
    }
    memory.push([size, 'Sluice host, 1 000 sessions more', '', '', digits(ours.sessions_mib)]);
    if (toolbox === null) continue;
    if (size === 1_000)
      gates.push(
        ratioGate(
          'start to first tools/list, 1 000 tools, to Toolbox',
          ours.ready_ms,
          toolbox.ready_ms,
          '<=',
          0.5,
          'loading the modules of the host',
        ),
      );
    else {
      gates.push(
        ratioGate('memory after load to Toolbox', ours.loaded_mib, toolbox.loaded_mib, '<=', 1, 'the runtime and its heap'),
      );
      gates.push(limitGate('memory of 1 000 sessions', ours.sessions_mib, 16, 'MiB', 'a record each'));
    }
  }
  const text = [
    LISTED,
    '',
    table(['tools', 'target', 'reply KiB', 'requests/s', 'p50 ms', 'p99 ms', 'CPU s per 10 000', 'errors'], rows),
    '',
    'From the start of the program to its first tools/list (ours: a host with its snapshot on disk), and its resident memory idle and after a load of point lookups:',
    '',
    table(['tools', 'program', 'ready ms', 'idle MiB', 'loaded MiB'], memory),
  ].join('\n');
  return { title: 'tools/list, start and memory', text, gates };
}

/** Bytes of a reply as it is sent. */
async function sizeOf({ url, headers }: Target, encoding: string): Promise<number> {
  const all = { ...JSON_TYPES, ...headers, 'accept-encoding': encoding };
  const response = await fetch(url, { method: 'POST', headers: all, body: LIST_BODY, decompress: false });
  return (await response.bytes()).length;
}

const LOAD = { connections: 64, seconds: 3 };

async function startsOfOurs(database: BenchDatabase, size: number): Promise<Start & { sessions_mib: number }> {
  const product = await startOurs(database, { tools: [TOOLS.lookup], filler: size - 1, bearer: true });
  await product.programs.stop();
  const ready: number[] = [];
  try {
    for (let n = 0; n < 4; n++) {
      const host = await startHostAlone(product);
      ready.push(host.ready_ms);
      await host.stop();
    }
    const host = await startHostAlone(product);
    await Bun.sleep(1_000);
    const rss = () => measureTree([host.pid]).rss_mib;
    const idle_mib = rss();
    const { url, headers } = product;
    await runWrk({ url, headers, tool: TOOLS.lookup.name, span: 1_000, ...LOAD });
    await Bun.sleep(500);
    const loaded_mib = rss();
    for (let n = 0; n < 1_000; n++)
      await (await fetch(url, { method: 'POST', headers: { ...JSON_TYPES, ...headers }, body: INITIALIZE })).text();
    const sessions_mib = Math.max(0, rss() - loaded_mib);
    await host.stop();
    return { ready_ms: median(ready), idle_mib, loaded_mib, sessions_mib };
  } finally {
    await product.stop();
  }
}

const INITIALIZE =
  '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}';

async function startsOfToolbox(database: BenchDatabase, peers: string, size: number): Promise<Start> {
  const offer = { tools: [TOOLS.lookup], filler: size - 1 };
  const ready: number[] = [];
  for (let n = 0; n < 4; n++) {
    const began = performance.now();
    const target = await startPeer('toolbox', peers, database, offer);
    ready.push(performance.now() - began);
    await target.stop();
  }
  const target = await startPeer('toolbox', peers, database, offer);
  await Bun.sleep(1_000);
  const idle_mib = target.measure().rss_mib;
  await runWrk({ url: target.url, headers: target.headers, tool: TOOLS.lookup.name, span: 1_000, ...LOAD });
  await Bun.sleep(500);
  const loaded_mib = target.measure().rss_mib;
  await target.stop();
  return { ready_ms: median(ready), idle_mib, loaded_mib };
}

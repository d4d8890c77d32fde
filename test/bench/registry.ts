import { join } from 'node:path';
import { loadRegistry } from '#mcp-host/registry/load-registry.ts';
import { snapshotFile } from '#mcp-host/control/snapshot-file.ts';
import type { Snapshot } from '#snapshots/format/format.ts';
import { toContent } from '#snapshots/format/tree.ts';
import { loadableOf } from '#test/mcp-host/snapshot-forms.ts';
import { removeFolder, startPrograms } from '#test/support/programs.ts';
import { percentile } from './figures.ts';
import { digits, limitGate, median, type Section, table } from './report.ts';

/** Building the registry of a snapshot, as a host does at each deploy, and the longest time during which nothing else ran. */
export async function measureRegistry(sizes: readonly number[]): Promise<Section> {
  const one = await snapshotOfOneTool();
  const rows: (string | number)[][] = [];
  const figures = new Map<number, { build: number; stall: number }>();
  for (const size of sizes) {
    const text = JSON.stringify(withTools(one, size));
    const builds: number[] = [];
    const parses: number[] = [];
    const stalls: number[] = [];
    for (let round = 0; round < 15; round++) {
      const parsing = performance.now();
      const snapshot = JSON.parse(text) as Snapshot;
      parses.push(performance.now() - parsing);
      const loadable = loadableOf(snapshot);
      await Bun.sleep(5);
      const watch = watchStalls();
      const began = performance.now();
      await loadRegistry(loadable);
      builds.push(performance.now() - began);
      stalls.push(watch.end());
    }
    figures.set(size, { build: median(builds), stall: median(stalls) });
    rows.push([
      size,
      digits(text.length / 1024),
      digits(median(parses)),
      percentile(builds, 50),
      percentile(builds, 95),
      digits(median(stalls)),
      digits(Math.max(...stalls)),
    ]);
  }
  const thousand = figures.get(1_000);
  const many = figures.get(5_000);
  const bound = 'closures for the arguments and the text of the lists';
  return {
    title: 'Building the registry',
    text: table(
      ['tools', 'snapshot KiB', 'JSON.parse ms', 'build p50 ms', 'build p95 ms', 'longest stall, median ms', 'worst of 15'],
      rows,
    ),
    gates: [
      ...(thousand === undefined ? [] : [limitGate('registry of 1 000 tools', thousand.build, 10, 'ms', bound)]),
      ...(many === undefined
        ? []
        : [
            limitGate('registry of 5 000 tools', many.build, 50, 'ms', bound),
            limitGate('longest stall while it is built', many.stall, 10, 'ms', 'slices with a turn for others between them'),
          ]),
    ],
  };
}

/** The longest time between two turns that others had. */
function watchStalls(): { end(): number } {
  let last = performance.now();
  let longest = 0;
  let running = true;
  const turn = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (running) setImmediate(turn);
  };
  setImmediate(turn);
  return {
    end() {
      running = false;
      return Math.max(longest, performance.now() - last);
    },
  };
}

/** What a host keeps on disk of a product with one tool of five parameters. */
async function snapshotOfOneTool(): Promise<Snapshot> {
  const programs = await startPrograms({ env: { SVC_DEMO: 'false', SVC_LOG_LEVEL: 'WARNING' } });
  try {
    await programs.signIn();
    const { id: connection_id } = await programs.api<{ id: string }>('POST', '/connections', {
      name: 'bench',
      db_type: 'postgresql',
      host: '127.0.0.1',
      port: 5432,
      database: 'postgres',
      username: 'postgres',
      ssl_mode: 'disable',
    });
    await programs.api('POST', '/tools', {
      connection_id,
      name: 'wide',
      description: 'Tables by their size, owner and name',
      sql_query:
        'select relname, relpages from pg_class where relpages >= :least and relpages <= :most and relkind = :kind [[ and relname like :name ]] limit :limit',
      parameters: [
        { name: 'least', type: 'integer', description: 'Fewest pages', minimum: 0 },
        { name: 'most', type: 'integer', description: 'Most pages', minimum: 0 },
        { name: 'kind', type: 'string', description: 'Kind of relation', enum: ['r', 'i', 'v'] },
        { name: 'name', type: 'string', description: 'Pattern of the name', required: false, max_length: 64 },
        { name: 'limit', type: 'integer', description: 'Most rows', required: false, default: 10, minimum: 1, maximum: 100 },
      ],
    });
    await programs.api('POST', '/deploy', {});
    const { snapshot } = await snapshotFile(join(programs.directory, 'host/snapshot.json')).read();
    if (snapshot === null) throw new Error('The host kept no snapshot.');
    const { leaves, texts, ...head } = snapshot;
    return { ...head, content: toContent(leaves, (hash) => texts.get(hash)) };
  } finally {
    await programs.stop();
    removeFolder(programs);
  }
}

function withTools(snapshot: Snapshot, size: number): Snapshot {
  const [tool] = snapshot.content.tools;
  if (tool === undefined) throw new Error('The snapshot has no tool.');
  const tools = Array.from({ length: size }, (_, n) => {
    const name = `${tool.name}_${n}`;
    return { ...tool, id: `${tool.id}-${n}`, name, listing: { ...tool.listing, name } };
  });
  return { ...snapshot, content: { ...snapshot.content, tools } };
}

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * What runs when. The daily layer is what a change needs to be trusted, the full layer everything. Paths are exact: a folder ends
 * with a slash, a file is named without `.test.ts`.
 */
export type Layer = 'daily' | 'full';

export const ROOT = join(import.meta.dir, '../..');

interface Group {
  /** For the summary of a run that leaves it out. */
  readonly name: string;
  readonly files: readonly string[];
  /** Those of them that the daily layer runs as well. */
  readonly daily: readonly string[];
}

/** What only the full layer runs, and what stands for it every day. */
export const FULL_ONLY: readonly Group[] = [
  { name: 'faults: programs killed, networks cut, locks held', files: ['test/faults/'], daily: ['test/faults/locks'] },
  { name: 'guides and installations of docs/', files: ['test/docs/'], daily: [] },
  {
    name: 'the official conformance suites',
    files: ['test/conformance/'],
    daily: ['test/conformance/host'],
  },
  {
    name: 'packages and executables, their start and what they bring',
    files: [
      'test/e2e/binary',
      'test/e2e/compose',
      'test/e2e/image',
      'test/e2e/npm-start',
      'test/e2e/package',
      'test/e2e/proxies',
      'test/e2e/restore',
      'test/server/cli-bundle',
    ],
    daily: [],
  },
  {
    name: 'several servers, hosts and runtimes at once',
    files: [
      'test/agent/many-servers',
      'test/core/engines/mysql/hosts',
      'test/e2e/cluster',
      'test/e2e/rights-reach-hosts',
      'test/e2e/two-runtimes',
      'test/mcp-host/call/replicas',
      'test/server/deploy/canary-servers',
      'test/server/deploy/drift-servers',
      'test/server/deploy/other-installation',
      'test/server/deploy/replay/two-servers',
      'test/server/tls/many-servers',
    ],
    daily: [],
  },
  {
    name: 'certificates from an ACME server',
    files: ['test/server/tls/'],
    daily: ['test/server/tls/issue', 'test/server/tls/rules', 'test/server/tls/requests'],
  },
  {
    name: 'generated projects and bundles on every runtime and database',
    files: [
      'test/snapshots/bundle/',
      'test/snapshots/generate-clickhouse',
      'test/snapshots/generate-duckdb',
      'test/snapshots/generate-ending',
      'test/snapshots/generate-libsql',
      'test/snapshots/generate-runtimes',
      'test/snapshots/generate-server',
      'test/snapshots/generate-sessions',
      'test/snapshots/generate-tls',
    ],
    daily: [],
  },
  {
    name: 'hostile files, bombs, random requests and long journeys',
    files: [
      'test/core/engines/duckdb/attacks',
      'test/core/engines/duckdb/hostile-files',
      'test/server/attacks/attacks-session',
      'test/server/attacks/fuzz',
      'test/server/attacks/fuzz-postgres',
      'test/server/deploy/any-order',
      'test/server/deploy/replay/seeded-replay',
      'test/server/identity/keys',
      'test/server/transfer/file-text',
      'test/server/transfer/import-limits',
      'test/server/transfer/journey',
    ],
    daily: [],
  },
  {
    name: 'pages of several people, tabs and sessions at once',
    files: [
      'test/e2e/ui-candidates',
      'test/e2e/ui-conflicts',
      'test/e2e/ui-people',
      'test/e2e/ui-sign-out',
      'test/e2e/ui-two-people',
      'test/e2e/ui-unsaved',
    ],
    daily: ['test/e2e/ui-conflicts'],
  },
  {
    name: 'pages with thousands of records, slow networks, lost answers and servers',
    files: ['test/e2e/ui-lost', 'test/e2e/ui-many', 'test/e2e/ui-slow', 'test/e2e/ui-wide-results', 'test/e2e/ui-writes'],
    daily: [],
  },
  {
    name: 'pages of the interface beyond the walk through all of them',
    files: [
      'test/e2e/ui-access',
      'test/e2e/ui-caller-home',
      'test/e2e/ui-consent-people',
      'test/e2e/ui-diagnosis',
      'test/e2e/ui-directions',
      'test/e2e/ui-fields',
      'test/e2e/ui-house',
      'test/e2e/ui-phones',
      'test/e2e/ui-toolsets',
    ],
    daily: [],
  },
  {
    name: 'random statements, compared with each database’s own client',
    files: [
      'test/core/engines/clickhouse/oracle',
      'test/core/engines/duckdb/oracle',
      'test/core/engines/mysql/oracle',
      'test/core/engines/postgresql/oracle',
      'test/core/engines/sqlite/oracle',
    ],
    daily: ['test/core/engines/postgresql/oracle'],
  },
  { name: 'screenshots', files: ['test/e2e/ui-looks', 'test/e2e/ui-contrast'], daily: [] },
];

/** Run only when a filter names them: they take minutes. */
const LONG = ['test/bench/'];

/** Need an installation that nothing else needs; without it the summary says so. */
export const ON_DEMAND = [
  {
    folder: 'test/clients/',
    needs: 'test/clients/node_modules',
    install: 'bun install --frozen-lockfile --cwd test/clients (1.7 GB)',
  },
] as const;

/** They measure the memory of their process. */
const ALONE: readonly string[] = [
  'test/agent/countries',
  'test/core/engines/clickhouse/server',
  'test/core/engines/libsql/source',
  'test/core/engines/mysql/sessions',
  'test/core/engines/mysql/source',
  'test/core/engines/postgresql/faults',
  'test/core/engines/postgresql/source',
  'test/core/engines/sqlite/source',
  'test/server/observe/live-logs',
  'test/snapshots/generate-sessions',
];

/** They wait for a clock or another program more than they work, so they run beside those that work. */
const WAITING: readonly string[] = [
  'test/mcp-host/call/confirmation-pages',
  'test/core/cluster/redis',
  'test/server/deploy/canary-servers',
  'test/server/deploy/deploy-hosts',
  'test/server/deploy/drift-servers',
  'test/core/engines/duckdb/process',
  'test/e2e/first-run',
  'test/faults/network',
  'test/faults/stores',
  'test/mcp-host/transports/listener-idle',
  'test/server/idle',
  'test/server/leases',
  'test/mcp-host/limits/shared-limits',
  'test/mcp-host/transports/listener-waiting',
  'test/core/engines/mysql/hostile',
  'test/server/identity/oauth/hosts',
  'test/server/observe/notices',
  'test/mcp-host/observe/tracing',
  'test/core/engines/postgresql/hostile',
  'test/server/deploy/replay/two-servers',
  'test/server/identity/sign-in-limits',
  'test/mcp-host/auth/signed/foreign',
  'test/core/engines/sqlite/process',
  'test/core/store/metadata-store',
  'test/server/tls/dns',
  'test/server/tls/issue',
  'test/server/identity/hostile-provider',
];

/** Tests of the whole server run a second time with the metadata in PostgreSQL, but for these. */
const ONE_STORE: readonly string[] = [
  // They look at the embedded file itself.
  'test/server/attacks/attacks',
  'test/server/attacks/canary',
  'test/server/attacks/fuzz',
  'test/server/attacks/fuzz-postgres',
  'test/server/cli',
  'test/server/cli-bundle',
  'test/server/identity/two-factor',
  'test/server/no-writes',
  // Two servers of one PostgreSQL database, or nothing that a store is needed for.
  'test/server/definitions/search',
  'test/server/deploy/drift-servers',
  'test/server/deploy/two-servers',
  // What these refuse does not reach the store.
  'test/server/identity/hostile-provider',
  'test/server/tls/rules',
];

/** Each test of the file names its store (test/support/metadata), so a second run would have none. */
export function isForNamedStores(source: string): boolean {
  const tops = source.match(/^(?:describe|test)\w*\b.*$/gm) ?? [];
  return tops.length > 0 && tops.every((line) => /\bnamedStores\b|^\w+Once\b/.test(line));
}

/** A further run of some files in another environment. */
interface Variant {
  readonly name: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly files: (file: string) => boolean;
  /** What the daily layer runs of them. */
  readonly daily: readonly string[];
}

export const IN_POSTGRESQL = ' (metadata in PostgreSQL)';
export const ON_POSTGRES_18 = ' (PostgreSQL 18)';
export const ON_DENO = ' (host on Deno)';

export const VARIANTS: readonly Variant[] = [
  {
    name: IN_POSTGRESQL,
    environment: { TEST_METADATA: 'postgresql' },
    files: (file) => {
      if (!file.startsWith('test/server/') || isIn(file, ONE_STORE)) return false;
      const source = readFileSync(join(ROOT, file), 'utf8');
      return source.includes('testApp(') && !isForNamedStores(source);
    },
    // Where the two stores differ: raw SQL, search, JSON, order, locks and concurrent writes.
    daily: [
      'test/server/definitions/connections',
      'test/server/definitions/tools',
      'test/server/deploy/deploy',
      'test/server/deploy/deploy-races',
      'test/server/identity/oauth/records',
      'test/server/observe/history',
      'test/server/observe/traffic',
      'test/server/transfer/transfer',
    ],
  },
  {
    name: ON_POSTGRES_18,
    environment: { TEST_METADATA: '' },
    // The driver, its attacks, its catalogue and the metadata.
    files: (file) =>
      isIn(file, [
        'test/core/engines/postgresql/',
        'test/core/store/',
        'test/core/lib/postgres/',
        'test/core/lib/sql/bind-databases',
        'test/core/lib/sql/caller-policies',
        'test/core/lib/sql/rules',
      ]) &&
      // These start a server of their own, or what stands between us and the server is what they try.
      !isIn(file, ['test/core/engines/postgresql/tls', 'test/core/engines/postgresql/hostile', 'test/core/store/metadata-store']),
    daily: ['test/core/engines/postgresql/values'],
  },
  {
    name: ON_DENO,
    environment: { TEST_HOST: 'deno' },
    // The protocol, auth, queue, swap, SQLite and the limits of HTTP.
    files: (file) =>
      isIn(file, [
        'test/mcp-host/program',
        'test/mcp-host/auth/auth-bearer',
        'test/mcp-host/auth/auth-oauth',
        'test/mcp-host/call/calls',
        'test/mcp-host/call/databases',
        'test/mcp-host/protocol/protocol',
        'test/mcp-host/requests/sessions',
        'test/mcp-host/protocol/subscriptions',
        'test/mcp-host/control/lifecycle',
        'test/mcp-host/transports/listener',
        'test/mcp-host/transports/listener-idle',
        'test/mcp-host/transports/sse',
        'test/mcp-host/transports/stdio',
      ]),
    daily: ['test/mcp-host/call/calls'],
  },
];

export function isIn(file: string, entries: readonly string[]): boolean {
  const name = file.replace(/\.test\.tsx?$/, '');
  return entries.some((entry) => (entry.endsWith('/') ? file.startsWith(entry) : name === entry));
}

export const isLong = (file: string): boolean => isIn(file, LONG);
export const isAlone = (file: string): boolean => isIn(file, ALONE);
export const isWaiting = (file: string): boolean => isIn(file, WAITING);

/** The group that keeps a file out of the daily layer, or null. */
export const groupOf = (file: string): Group | null =>
  FULL_ONLY.find(({ files, daily }) => isIn(file, files) && !isIn(file, daily)) ?? null;

/** Why a file cannot run here, or null. */
export function missingFor(file: string): string | null {
  const entry = ON_DEMAND.find(({ folder }) => file.startsWith(folder));
  return entry === undefined || existsSync(join(ROOT, entry.needs)) ? null : entry.install;
}

/** Every path that this table names, so that a test can say which of them no longer lead to a file. */
export const named = (): readonly string[] => [
  ...FULL_ONLY.flatMap(({ files, daily }) => [...files, ...daily]),
  ...VARIANTS.flatMap(({ daily }) => daily),
  ...LONG,
  ...ON_DEMAND.map(({ folder }) => folder),
  ...ALONE,
  ...WAITING,
  ...ONE_STORE,
];

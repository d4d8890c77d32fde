import type { Happening } from '#core/contract/announcements.ts';
import type { OperationName, operations } from '#core/contract/index.ts';

type NounOf<N extends string> = N extends `${infer First}.${string}` ? First : never;
type ReadName = { [N in OperationName]: (typeof operations)[N]['method'] extends 'GET' ? N : never }[OperationName];
type ReadNoun = NounOf<ReadName>;

/** What makes answers outdated: a change of a noun, or an event without an operation. */
export type Source = NounOf<OperationName> | Happening;

interface Freshness {
  /** What outdates the answers, besides changes of the noun itself. */
  readonly from?: readonly Source[];
  /** The least time between two automatic reads. */
  readonly spacing_ms?: number;
  /** The age at which an answer is read again without a change, because it depends on the clock. */
  readonly age_ms?: number;
  /** The answer never changes. */
  readonly fixed?: true;
}

const DEFINITIONS = ['connections', 'files', 'tools', 'resources', 'prompts', 'definitions'] as const satisfies Source[];
const DEPLOYS = ['deploy', 'snapshots', 'hosts', 'canary'] as const satisfies Source[];
const CONFIGURATION = [...DEFINITIONS, 'toolsets', 'config', 'deploy', 'snapshots'] as const satisfies Source[];
const FIXED = { fixed: true } as const;
/** They can change records of every noun. */
const ANYTHING = ['history', 'transfer', 'proposals', 'agent'] as const satisfies Source[];

/** What the answers of each noun are derived from. An operation that differs from its noun has an entry as well. */
const FRESHNESS = {
  auth: { from: ['two_factor', 'identity_providers', 'people'] },
  two_factor: {},
  identity_providers: {},
  people: {},
  home: { from: [...DEPLOYS, 'people', 'grants', 'mcp_tokens'] },

  connections: { from: DEFINITIONS },
  'connections.types': FIXED,
  files: { from: ['connections'] },
  schema: { from: ['connections', 'files', 'definitions'], spacing_ms: 10_000 },
  tools: { from: DEFINITIONS },
  resources: { from: DEFINITIONS },
  prompts: { from: DEFINITIONS },
  toolsets: { from: DEFINITIONS },
  definitions: { from: DEFINITIONS },
  tests: { from: [...DEFINITIONS, 'deploy', 'snapshots', 'candidates'] },
  lint: { from: CONFIGURATION, spacing_ms: 5_000 },
  'lint.rules': FIXED,
  guard: FIXED,
  config: {},
  ssl: { from: ['config'], age_ms: 60_000 },

  deploy: { from: [...CONFIGURATION, ...DEPLOYS, 'candidates', 'drift'] },
  'deploy.diff': { from: [...CONFIGURATION, 'drift'], spacing_ms: 2_000 },
  snapshots: { from: DEPLOYS },
  candidates: { from: DEPLOYS },
  drift: { from: DEPLOYS },
  server: { from: [...CONFIGURATION, ...DEPLOYS, 'ssl'], spacing_ms: 15_000 },
  // The read asks every database.
  'server.health': { from: [...CONFIGURATION, ...DEPLOYS, 'ssl'], spacing_ms: 15_000, age_ms: 30_000 },
  health: {},

  metrics: { from: ['calls'], spacing_ms: 15_000, age_ms: 60_000 },
  queue: { from: ['calls', ...DEPLOYS], spacing_ms: 2_000 },
  calls: { from: ['queue'] },
  logs: { from: ['calls'], spacing_ms: 5_000 },
  'logs.get': FIXED,
  mcp_sessions: { from: ['calls'], spacing_ms: 10_000 },
  clients: { from: ['calls'], spacing_ms: 60_000 },
  insights: { from: ['calls', ...CONFIGURATION], spacing_ms: 30_000 },
  flow: { from: [...CONFIGURATION, ...DEPLOYS] },
  'flow.traffic': { from: [...CONFIGURATION, ...DEPLOYS, 'calls'], spacing_ms: 2_000, age_ms: 60_000 },
  notices: {},
  audit: { spacing_ms: 5_000 },

  mcp_tokens: {},
  credentials: { from: ['mcp_tokens', 'oauth_clients', 'oauth_apps'] },
  agent_tokens: {},
  agent_activity: {},
  oauth_clients: { from: ['oauth_attempts'] },
  oauth_apps: {},
  oauth_attempts: {},
  oauth_requests: FIXED,
  grants: { from: ['oauth_apps', 'oauth_attempts'] },
  confirmations: FIXED,
  signing_keys: {},

  proposals: {},
  history: {
    from: [
      ...CONFIGURATION,
      'auth',
      'two_factor',
      'identity_providers',
      'people',
      'tests',
      'ssl',
      'candidates',
      'mcp_tokens',
      'agent_tokens',
      'oauth_clients',
      'oauth_apps',
      'grants',
      'signing_keys',
      'notices',
    ],
  },
  transfer: FIXED,
  progress: FIXED,
} as const satisfies Readonly<Record<ReadNoun, Freshness>> & { readonly [N in OperationName]?: Freshness };

const nounOf = (name: string): string => name.replace(/\..*/, '');

/** Undefined for an operation whose answers have no entry. */
export function freshnessOf(name: OperationName): Freshness | undefined {
  const table: Readonly<Record<string, Freshness>> = FRESHNESS;
  return table[name] ?? table[nounOf(name)];
}

/** Everything that makes the answers of an operation outdated. */
export function sourcesOf(name: OperationName): readonly string[] {
  const { from = [], fixed = false } = freshnessOf(name) ?? {};
  return fixed ? [] : [nounOf(name), ...from, ...ANYTHING];
}

/** Records that forms edit: a form begins with the stored record, and keeps it until it is saved or opened again. */
const EDITED: ReadonlySet<OperationName> = new Set<OperationName>([
  'connections.get',
  'tools.get',
  'resources.get',
  'prompts.get',
  'toolsets.get',
  'tests.get',
  'people.get',
  'config.get',
]);
export const isEdited = (name: OperationName): boolean => EDITED.has(name);

/**
 * Operations that read although they are sent by POST, and those after which everything is read again anyway: sign-ins, sign-outs and the
 * decisions on separate pages.
 */
const READ_BY_POST: ReadonlySet<OperationName> = new Set<OperationName>([
  'preview.execute',
  'preview.trial',
  'preview.tool',
  'preview.resource',
  'preview.prompt',
  'preview.explain',
  'guard.test',
  'guard.scan',
  'replay.run',
  'insights.find',
  'proposals.try',
  'proposals.replay',
  'toolsets.preview',
  'toolsets.visible',
  'identity_providers.test',
  'connections.test',
  'connections.test_draft',
  'config.check_token',
  'two_factor.login',
  'two_factor.setup',
  'auth.setup',
  'auth.login',
  'auth.logout',
  'oauth_requests.decide',
  'confirmations.approve',
  'confirmations.decline',
]);

/** What an operation changes, as a source of outdated answers; undefined for a read. */
export function changedBy(name: OperationName, method: string, input: object): Source | undefined {
  if (method === 'GET' || READ_BY_POST.has(name) || ('dry_run' in input && input.dry_run === true)) return undefined;
  return nounOf(name) as Source;
}

/** Whether an operation may be aborted at any time: a read, or a run of tests, which only stores its outcome. */
export const mayAbort = (name: OperationName, method: string, input: object): boolean =>
  name === 'tests.run' || changedBy(name, method, input) === undefined;

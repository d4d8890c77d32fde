import type { Output } from '#core/contract/index.ts';

type Entry = Output<'history.list'>['items'][number];

export const ACTION_WORDS = {
  create: 'created',
  update: 'changed',
  delete: 'deleted',
  rollback: 'rolled back',
  import: 'imported',
  deploy: 'deployed',
  blocked: 'could not save',
} as const satisfies Record<Entry['action'], string>;
export const ENTITY_WORDS = {
  connection: 'connection',
  tool: 'tool',
  resource: 'resource',
  prompt: 'prompt',
  toolset: 'toolset',
  test: 'test',
  server_config: 'the settings of',
  mcp_token: 'access token',
  agent_token: 'agent token',
  oauth_client: 'OAuth client',
  identity_provider: 'identity provider',
  oauth_app: 'OAuth app',
  grant: 'sign-in of',
  signing_key: 'the',
  notice: 'webhook',
  admin: 'person',
  snapshot: 'version',
  file: 'file',
} as const satisfies Record<Entry['entity_type'], string>;

export const WORDS = {
  calls: 'Calls',
  errors: 'Errors',
  slowest: (p95: string) => `p95 up to ${p95}`,
  waiting: (waiting: number) => `${waiting.toLocaleString('en')} waiting`,
  of: (part: number, all: number) => `${part} of ${all}`,
  last: (period: string) => `Last ${period}`,
  top: 'Most called',
  top_empty: 'No calls in this period.',
  failures: 'Latest failures',
  activity: 'Recent changes',
} as const;

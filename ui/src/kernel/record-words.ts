import type { HistoryEntry } from '#core/contract/history.ts';
import type { NoticeEvent } from '#core/contract/notices.ts';

/** What was done to a record. */
export const ACTION_WORDS = {
  create: 'created',
  update: 'changed',
  delete: 'deleted',
  rollback: 'rolled back',
  import: 'imported',
  deploy: 'deployed',
  blocked: 'blocked',
} as const satisfies Record<HistoryEntry['action'], string>;

/** What kind of record it is. */
export const TYPE_WORDS = {
  connection: 'connection',
  tool: 'tool',
  resource: 'resource',
  prompt: 'prompt',
  toolset: 'toolset',
  test: 'test',
  server_config: 'server configuration',
  mcp_token: 'access token',
  agent_token: 'agent token',
  oauth_client: 'OAuth client',
  identity_provider: 'identity provider',
  oauth_app: 'OAuth app',
  grant: 'sign-in',
  signing_key: 'signing key',
  notice: 'webhook',
  admin: 'person',
  snapshot: 'version',
  file: 'file',
} as const satisfies Record<HistoryEntry['entity_type'], string>;

/** What a record is called: canaries and candidates have no other name than their id, which says nothing to a reader. */
export const recordName = ({ entity_type, entity_name }: Pick<HistoryEntry, 'entity_type' | 'entity_name'>): string =>
  entity_type === 'snapshot' ? entity_name.replace(/ [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, '') : entity_name;

/** What happened, in the list of notices and for webhooks. */
export const EVENT_LABELS = {
  proposal: 'Proposal',
  deploy: 'Deploy',
  rollback: 'Rollback',
  canary_aborted: 'Canary aborted',
  test_failed: 'Test failed',
  drift: 'Drift',
  host_gone: 'Host lost',
  certificate: 'Certificate',
  guard_hit: 'Change refused',
  login_locked: 'Sign-in locked',
  tool_failing: 'Tool failing',
  queue_full: 'Queue full',
  sign_ins_refused: 'Tokens refused',
} as const satisfies Record<NoticeEvent, string>;

import type { NoticeEvent } from '#core/contract/observe/notices.ts';

type Data = Readonly<Record<string, unknown>>;

/** A sentence about an event, its subject, and its page. Contains only what every reader of the event may know. */
export function describeEvent(event: NoticeEvent, data: Data): { message: string; about: string | null; path: string } {
  const { message, about, path } = DESCRIBED[event];
  const subject = about === undefined ? null : textOf(data[about]);
  return { message: message(data), about: subject, path: typeof path === 'string' ? path : path(data) };
}

interface Described {
  readonly message: (data: Data) => string;
  readonly about?: string;
  readonly path: string | ((data: Data) => string);
}

const DESCRIBED: Readonly<Record<NoticeEvent, Described>> = {
  deploy: {
    message: (data) => `${by(data)} deployed version ${text(data['version'])}${note(data)}.`,
    about: 'version',
    path: '/deploy?view=versions',
  },
  rollback: {
    message: (data) => `${by(data)} restored version ${text(data['version'])}${note(data)}.`,
    about: 'version',
    path: '/deploy?view=versions',
  },
  canary_aborted: { message: (data) => `A canary deploy was aborted${reason(data)}`, path: '/deploy?view=candidates' },
  proposal: {
    message: (data) => {
      const [title, state] = [text(data['title']), text(data['state'])];
      return state === 'open' ? `${text(data['author'])} proposed: ${title}` : `${by(data)} ${state} the proposal: ${title}`;
    },
    about: 'id',
    path: ({ id }) => (typeof id === 'string' ? `/proposals/${id}` : '/proposals'),
  },
  test_failed: { message: (data) => `${counted(data['failed'], 'test')} failed${named(data['tests'])}.`, path: '/tests' },
  drift: {
    message: (data) =>
      `${counted(data['drifted'], 'definition')} no longer ${data['drifted'] === 1 ? 'matches' : 'match'} the database${named(data['definitions'])}.`,
    path: '/deploy',
  },
  host_gone: { message: (data) => `The host ${text(data['url'] ?? data['id'])} disconnected.`, path: '/deploy' },
  host_disk: {
    message: (data) => `The host ${text(data['url'] ?? data['id'])} cannot save what it serves: ${text(data['fault'])}`,
    path: '/deploy',
  },
  certificate: {
    message: (data) =>
      typeof data['error'] === 'string'
        ? `The certificate could not be issued: ${data['error']}`
        : `The certificate for ${list(data['domains'])} was issued.`,
    path: '/settings/tls',
  },
  guard_hit: {
    message: (data) => `${control(data)} blocked a change of ${text(data['entity_name']) || 'a record'} by ${text(data['by'])}.`,
    about: 'entity_type',
    path: '/history?action=blocked',
  },
  audit_head: {
    message: (data) => `Entry ${text(data['seq'])} of the audit log was signed.`,
    about: 'seq',
    path: '/logs?view=audit',
  },
  login_locked: { message: (data) => `Sign-in is locked after too many failed attempts${from(data)}.`, path: '/people' },
  tool_failing: {
    message: (data) =>
      `${text(data['name'])} fails: ${text(data['failed'])} of its last ${counted(data['calls'], 'call')} in ${minutes(data)}.`,
    about: 'id',
    path: ({ kind, id, name }) =>
      typeof id === 'string' ? `/${text(kind)}s/${id}` : `/logs?${new URLSearchParams({ view: 'requests', name: text(name) })}`,
  },
  queue_full: {
    message: (data) =>
      `${text(data['name'])} has no free slot: ${counted(data['rejected'], 'call')} rejected in ${minutes(data)}. Raise its concurrency or queue, or speed up slow tools.`,
    about: 'id',
    path: ({ id }) => `/connections/${text(id)}`,
  },
  token_expiring: {
    message: (data) =>
      `${counted(data['count'], 'credential')} ${data['count'] === 1 ? 'ends' : 'end'} within ${counted(data['days'], 'day')}${named(data['tokens'])}.`,
    path: ({ tokens }) => ENDING_PAGES[typeOf(tokens)] ?? '/access',
  },
  sign_ins_refused: {
    message: (data) =>
      `${counted(data['refused'], 'request')} with an invalid access token refused in ${minutes(data)}${from(data)}.`,
    path: '/logs?view=refusals&refused=unauthenticated',
  },
};

/** The page of the first credential that ends. */
const ENDING_PAGES: Readonly<Record<string, string>> = { oauth_client: '/agents?view=clients', oauth_app: '/sign-in' };
function typeOf(records: unknown): string {
  const first: unknown = Array.isArray(records) ? records[0] : undefined;
  return typeof first === 'object' && first !== null && 'type' in first ? text(first.type) : '';
}

/** The control that refused a change, by the error code. */
const control = ({ code }: Data): string =>
  code === 'private_network_blocked'
    ? 'The rule against private addresses'
    : code === 'passthrough_sql_blocked'
      ? 'The rule against passthrough SQL'
      : 'The prompt guard';
const textOf = (value: unknown): string | null =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : null;
const text = (value: unknown): string => textOf(value) ?? '';
const by = ({ by: who }: Data): string => text(who) || 'Somebody';
const minutes = ({ minutes: count }: Data): string => counted(count, 'minute');
const note = ({ note: given }: Data): string => (text(given) === '' ? '' : `: ${text(given).replace(/\.$/, '')}`);
const reason = ({ reason: given }: Data): string => (text(given) === '' ? '.' : `: ${text(given)}`);
const from = ({ address }: Data): string => (typeof address === 'string' ? ` from ${address}` : '');
const counted = (value: unknown, word: string): string => `${text(value)} ${word}${value === 1 ? '' : 's'}`;
const list = (value: unknown): string => (Array.isArray(value) ? value.map(text).join(', ') : '');

const SHOWN = 3;
/** The first names of a list of records. */
function named(records: unknown): string {
  if (!Array.isArray(records)) return '';
  const names = records.flatMap((record: unknown) =>
    typeof record === 'object' && record !== null && 'name' in record ? text(record.name) : [],
  );
  return names.length === 0 ? '' : `: ${names.slice(0, SHOWN).join(', ')}${names.length > SHOWN ? ' and others' : ''}`;
}

import { CASCADED_KINDS, CONFIGURED, ENTITIES } from '#core/contract/entities.ts';
import type { Cascaded, HistoryEntry } from '#core/contract/history.ts';
import type { OperationName } from '#core/contract/index.ts';
import { typeWord } from '#ui/src/kernel/record-words.ts';

/** The entries of one action: a single one, or all of an import, a cascading deletion or a rollback. */
export interface HistoryAction {
  readonly id: string;
  readonly main: HistoryEntry;
  readonly others: readonly HistoryEntry[];
}

interface Day {
  /** `2026-11-21` in the zone of the reader. */
  readonly date: string;
  readonly actions: readonly HistoryAction[];
}

/** Entries by day, newest first; the entries of a batch are grouped. */
export function byDay(entries: readonly HistoryEntry[]): Day[] {
  const batches = new Map<string, HistoryEntry[]>();
  for (const entry of entries) {
    const key = entry.batch_id ?? entry.id;
    batches.set(key, [...(batches.get(key) ?? []), entry]);
  }
  const days = new Map<string, HistoryAction[]>();
  for (const [id, members] of batches) {
    const main = members.find(({ entity_type }) => entity_type === 'connection') ?? members[0];
    if (main === undefined) continue;
    const date = dateOf(main.created_at);
    const action = { id, main, others: members.filter((member) => member !== main) };
    days.set(date, [...(days.get(date) ?? []), action]);
  }
  return [...days].map(([date, actions]) => ({ date, actions }));
}

export function dateOf(iso: string): string {
  const at = new Date(iso);
  const two = (part: number) => String(part).padStart(2, '0');
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** The author of a change, and of its proposal. */
export const byOf = ({ name, proposal }: HistoryEntry['actor']): string =>
  proposal === undefined ? name : `${name}, proposed by ${proposal.author}`;

const DAY_MS = 86_400_000;

/** `Today`, `Yesterday`, otherwise the weekday and the date. */
export function dayName(date: string, now: number): string {
  if (date === dateOf(new Date(now).toISOString())) return 'Today';
  if (date === dateOf(new Date(now - DAY_MS).toISOString())) return 'Yesterday';
  return new Date(`${date}T12:00:00`).toLocaleDateString(undefined, {
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    year: 'numeric',
  });
}

const UNDOABLE: readonly HistoryEntry['entity_type'][] = [...CONFIGURED, 'identity_provider', 'oauth_app'];

/** Why an entry cannot be rolled back; undefined: it can. */
export function whyNot({ main, others }: HistoryAction, may: (name: OperationName) => boolean): string | undefined {
  const { action, entity_type, secrets_unavailable } = main;
  if (action === 'blocked') return 'A change was refused, so there is nothing to undo.';
  if (action === 'deploy') return 'To undo a deploy, restore an earlier version.';
  if (!UNDOABLE.includes(entity_type)) return `A change of this kind (${typeWord(entity_type)}) cannot be rolled back.`;
  if (!may('config.update') && [main, ...others].some((entry) => entry.entity_type === 'server_config'))
    return 'Only administrators can roll back server settings.';
  if (secrets_unavailable)
    return 'A secret of the earlier state cannot be decrypted with the current keys, so it cannot be restored.';
  return undefined;
}

/** The records that a rollback also deletes, one line each. */
export const goesAlong = (cascaded: Cascaded): string[] =>
  CASCADED_KINDS.flatMap((kind) => cascaded[ENTITIES[kind].plural].map((name) => `The ${typeWord(kind)} ${name}`));

const WITH_PAGE: ReadonlySet<HistoryEntry['entity_type']> = new Set(['connection', 'tool', 'resource', 'prompt']);

/** The edit page of the record, if it probably still exists. */
export function recordHref({ entity_type, entity_id, action }: HistoryEntry): string | undefined {
  if (entity_type === 'snapshot') return '/deploy?view=versions';
  if (entity_type === 'server_config') return '/settings';
  if (entity_type === 'admin') return '/people';
  if (action === 'delete' || entity_id === '' || !WITH_PAGE.has(entity_type)) return undefined;
  return `/${entity_type}s/${entity_id}`;
}

const BLOCKED_BY: Readonly<Record<string, string>> = {
  prompt_injection_blocked: 'The prompt guard found a prompt injection.',
  private_network_blocked: 'The address is in a private network, which this server does not allow.',
  passthrough_sql_blocked: 'A whole statement as a parameter is not allowed on this server.',
};

interface Blocked {
  readonly why: string;
  readonly fields: readonly string[];
  readonly rules: readonly string[];
  /** Number of occurrences within a minute. */
  readonly count: number;
  /** What to do if the action was intended. */
  readonly advice: string;
}

const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];

/** The refusal of a control; the refused text is not stored. */
export function blockedOf({ action, snapshot }: HistoryEntry): Blocked | undefined {
  if (action !== 'blocked') return undefined;
  const code = typeof snapshot?.['code'] === 'string' ? snapshot['code'] : '';
  const advice: Readonly<Record<string, string>> = {
    prompt_injection_blocked: 'If the text is intended, allow the rule in Settings, Prompt guard, and save again.',
    private_network_blocked: 'If the address is intended, start Sluice with SVC_ALLOW_PRIVATE_NETWORKS=true.',
    passthrough_sql_blocked: 'If this is intended, start Sluice with SVC_ALLOW_PASSTHROUGH_SQL=true.',
  };
  return {
    why: BLOCKED_BY[code] ?? 'A security control of this server rejected the change.',
    fields: texts(snapshot?.['fields']),
    rules: texts(snapshot?.['rules']),
    count: typeof snapshot?.['count'] === 'number' ? snapshot['count'] : 1,
    advice: advice[code] ?? '',
  };
}

import type { CallGroup, Refusal, UsageBatch } from '#core/contract/observe/usage-batch.ts';
import { CALL_OUTCOMES } from '#core/contract/observe/outcomes.ts';
import { NO_TOKEN } from '#core/contract/observe/refusal-sentences.ts';
import type { AuditDraft, NamedRef } from '#core/store/tables/audit.ts';
import type { Cell } from './count-calls.ts';

/**
 * Entries of the calls of a batch: one for the calls of one definition by one caller that ended alike within ten seconds. So an
 * entry costs little even on a busy server, and a single call has one entry. @param token_names names of tokens by id.
 */
export function auditOfCalls(
  groups: readonly CallGroup[],
  cells: readonly Cell[],
  token_names: ReadonlyMap<string, string>,
): AuditDraft[] {
  return cells.flatMap((cell) => {
    const group = groups[cell.group];
    if (group === undefined) return [];
    return CALL_OUTCOMES.flatMap((outcome, n): AuditDraft[] => {
      const calls = cell.outcomes[n] ?? 0;
      return calls === 0 ? [] : [toDraft(group, cell, outcome, calls, token_names)];
    });
  });
}

function toDraft(
  group: CallGroup,
  cell: Cell,
  outcome: AuditDraft['outcome'],
  calls: number,
  token_names: ReadonlyMap<string, string>,
): AuditDraft {
  const { kind, name, entity_id, snapshot_version, client, canary, confirmation, unmasked, session, caller } = group;
  const is_ok = outcome === 'ok';
  return {
    at: new Date(cell.last_ms).toISOString(),
    kind: 'call',
    actor: callerOf(group, token_names),
    entity: { type: kind, id: entity_id, name },
    tool: name,
    outcome,
    ip: null,
    request_id: null,
    detail: {
      calls,
      ...(cell.first_ms !== cell.last_ms && { first_at: new Date(cell.first_ms).toISOString() }),
      // Only calls that succeeded return rows.
      ...(is_ok && { rows: cell.rows }),
      snapshot_version,
      client,
      ...(caller?.client_id && { client_id: caller.client_id }),
      ...(session !== undefined && { session }),
      ...(canary && { canary: canary.id, side: canary.side }),
      ...(confirmation !== undefined && { confirmation }),
      ...(is_ok && unmasked !== undefined && { unmasked }),
    },
  };
}

const PLAYGROUND = 'playground:';

function callerOf({ caller, token_prefix, client }: CallGroup, token_names: ReadonlyMap<string, string>): NamedRef {
  const { person = null, token = null, client_id = null } = caller ?? {};
  if (person !== null) return { type: 'person', id: person, name: token_prefix };
  if (token !== null) return { type: 'token', id: token, name: token_names.get(token) ?? token_prefix };
  if (client_id !== null) return { type: 'client', id: client_id, name: token_prefix ?? client };
  if (token_prefix?.startsWith(PLAYGROUND)) return { type: 'person', id: null, name: token_prefix.slice(PLAYGROUND.length) };
  return { type: token_prefix === null ? 'anonymous' : 'client', id: null, name: token_prefix ?? client };
}

/** Entries of requests that hosts refused. Equal ones of a batch are one entry, so that a flood of them stays small. */
export function auditOfRefusals({ refusals }: Pick<UsageBatch, 'refusals'>): AuditDraft[] {
  const groups = Map.groupBy(refusals.filter(isNotable), ({ kind, status, reason, address, client, called }) =>
    JSON.stringify([kind, status, reason, address, client, called]),
  );
  return [...groups.values()].flatMap((same): AuditDraft[] => {
    const last = same.at(-1);
    if (last === undefined) return [];
    const { timestamp, kind, status, reason, address, client, called } = last;
    return [
      {
        at: new Date(timestamp).toISOString(),
        kind: 'refusal',
        actor: { type: 'anonymous', id: null, name: client },
        ...(called !== null && { tool: called }),
        outcome: 'refused',
        ip: address,
        request_id: null,
        detail: { refusal: kind, status, reason, requests: same.length },
      },
    ];
  });
}

/** Clients send a request without a token to learn where to sign in. */
const isNotable = ({ kind, reason }: Refusal): boolean => kind !== 'unauthenticated' || !reason.startsWith(NO_TOKEN);

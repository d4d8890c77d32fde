import type { Source } from '#core/engines/shared/source.ts';
import type { StopSignal } from '#core/engines/shared/stop.ts';
import { AppError } from '#core/errors.ts';
import { maskedDetail } from '#core/query/masked-errors.ts';
import type { Pseudonym } from '#core/query/masks.ts';
import { ofResult, runQuery } from '#core/query/query.ts';
import { sessionOf } from '#core/query/session.ts';
import { shape, toToolResult } from '#core/query/shape.ts';
import { isMembers, type Members } from '#mcp-host/protocol/messages.ts';
import type { Registry, ToolEntry } from '#mcp-host/registry/registry.ts';
import type { PoolHold, ConnectionPools } from '#mcp-host/connections/connection-pools.ts';
import type { Answer } from './compare.ts';
import { Displaced, lowPriority } from './low-priority.ts';
import type { Sample } from '#mcp-host/call/samples.ts';

export interface SideOptions {
  readonly sources: ConnectionPools;
  readonly pseudonym: Pseudonym;
  readonly now: () => number;
}

/** The outcome of one call on one side. `detail` may contain values. */
export type Ran =
  | { readonly kind: 'ran'; readonly answer: Answer }
  | {
      readonly kind: 'failed';
      readonly code: string;
      readonly sentence: string;
      readonly detail: string | null;
      readonly answer: null;
    }
  | { readonly kind: 'skipped'; readonly sentence: string };

/** Runs calls on one version, and holds its pools until it is closed. */
export interface Side {
  run(entry: ToolEntry, sample: Sample, stop: StopSignal): Promise<Ran>;
  close(): void;
}

/** A call that was displaced this often is not tried again. */
const MOST_TRIES = 5;
/** Both sides run a call with the same id and time, in every run. */
const moments = new WeakMap<Sample, { readonly id: string; readonly time: number }>();

export function createSide({ vars, server }: Registry, { sources, pseudonym, now }: SideOptions): Side {
  const held = new Map<string, PoolHold>();
  const holdOf = (entry: ToolEntry): PoolHold => {
    const { id, pool_key } = entry.connection;
    const key = `${id}/${pool_key}`;
    const known = held.get(key) ?? sources.hold(entry.connection);
    held.set(key, known);
    return known;
  };
  const momentOf = (sample: Sample) => {
    const known = moments.get(sample) ?? { id: crypto.randomUUID(), time: now() };
    moments.set(sample, known);
    return known;
  };

  const call = async (
    { plan, entity, connection }: ToolEntry,
    sample: Sample,
    pool: PoolHold,
    signal: StopSignal,
  ): Promise<Answer> => {
    const facts = { arguments: argumentsOf(sample), vars, caller: sample.caller, call: momentOf(sample) };
    const refuses_undeclared = server.undeclared_arguments === 'refuse';
    const values = await plan.resolve(facts, { refuses_undeclared, undeclared: 0, ignored: [] });
    const record = { wait_ms: 0, query_from: 0, query_to: 0, committed: false };
    const source = (): Promise<Source> => pool.source();
    const { slot } = lowPriority(pool.queue);
    const session = sessionOf(connection, facts);
    const { result, transformed } = await runQuery(plan, values, { source, slot, signal, facts, session, pseudonym, record });
    const { content } = ofResult(() =>
      toToolResult(shape(result, entity.return_type, transformed, { text_format: entity.text_format })),
    );
    return {
      columns: result.columns.map(({ name }) => name),
      rows: result.rows,
      text: content.map((block) => ('text' in block ? block.text : block.data)).join('\n'),
      truncated: result.truncated,
      ms: record.query_to - record.query_from,
    };
  };

  return {
    async run(entry, sample, stop) {
      const pool = holdOf(entry);
      for (let tries = 0; tries < MOST_TRIES; tries++) {
        try {
          return {
            kind: 'ran',
            answer: await lowPriority(pool.queue).giveWay(stop, (signal) => call(entry, sample, pool, signal)),
          };
        } catch (error) {
          if (error instanceof Displaced) continue;
          return faultOf(error, entry.entity, sample, stop);
        }
      }
      return { kind: 'skipped', sentence: 'Calls of clients left no slot for it.' };
    },
    close() {
      for (const hold of held.values()) hold.release();
      held.clear();
    },
  };
}

function argumentsOf({ arguments: text }: Sample): Members {
  const args: unknown = JSON.parse(text);
  return isMembers(args) ? args : {};
}

/** Codes that are not a fault of the version: the replay ended, or there was no slot. */
const BUSY: ReadonlySet<string> = new Set(['cancelled', 'queue_full', 'no_free_slot']);

/**
 * The fault in words without values. A database may quote sent values in its detail, so arguments and caller are removed from it.
 */
function faultOf(error: unknown, tool: ToolEntry['entity'], sample: Sample, stop: StopSignal): Ran {
  if (stop.aborted) return { kind: 'skipped', sentence: 'The replay ended before it was done.' };
  const code = error instanceof AppError ? error.code : 'internal';
  if (BUSY.has(code)) return { kind: 'skipped', sentence: 'Calls of clients left no slot for it.' };
  const detail = error instanceof AppError && WITH_DETAIL.has(code) ? withoutArguments(maskedDetail(error, tool), sample) : null;
  return { kind: 'failed', code, sentence: SENTENCES[code] ?? `The call fails (${code}).`, detail, answer: null };
}

const WITH_DETAIL: ReadonlySet<string> = new Set([
  'invalid',
  'bad_request',
  'sql_error',
  'not_read_only',
  'timeout',
  'too_large',
  'caller_value_missing',
]);
const SENTENCES: Readonly<Record<string, string>> = {
  invalid: 'Its arguments are refused.',
  bad_request: 'Its result cannot be shown.',
  sql_error: 'The database refuses the statement.',
  not_read_only: 'The statement would change data.',
  timeout: 'It takes longer than its time limit.',
  too_large: 'The result is too large.',
  caller_value_missing: 'A value of the caller is missing.',
  database_unreachable: 'The database cannot be reached.',
  tunnel_unreachable: 'The SSH tunnel to the database cannot be opened.',
  tunnel_refused: 'The SSH server of the connection refuses it.',
  tunnel_host_key: 'The SSH server of the connection presents another key.',
};

function withoutArguments(detail: string, sample: Sample): string {
  const { identity, claims } = sample.caller;
  const texts = scalarsOf([argumentsOf(sample), identity, claims]).toSorted((a, b) => b.length - a.length);
  return texts.reduce((text, value) => text.replaceAll(value, '…'), detail);
}

const scalarsOf = (value: unknown): string[] => {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(scalarsOf);
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return value === null || text.length < 2 ? [] : [text];
};

import { bind } from '#core/lib/sql/bind.ts';
import type { Column, Row } from '#core/lib/sql/result.ts';
import type { SessionState, Source } from '#core/engines/shared/source.ts';
import type { StopSignal } from '#core/engines/shared/stop.ts';
import type { Pseudonym } from '#core/query/masks.ts';
import type { QueryPlan } from '#core/query/query.ts';
import type { CallFacts } from '#core/query/value-sources.ts';
import type { ParameterValues } from '#core/query/values.ts';

export interface StreamRun {
  readonly source: Source;
  readonly timeout_ms: number;
  readonly signal: StopSignal;
  readonly facts: CallFacts;
  readonly session: SessionState | null;
  readonly pseudonym: Pseudonym;
}

/** Receives masked rows. */
export interface MaskedReceiver {
  begin(columns: readonly Column[]): void;
  rows(part: readonly Row[]): Promise<void>;
}

/** Hands over the whole result of a reading query, masked for its caller, without the limits and pages of a call. */
export async function streamQuery(plan: QueryPlan, values: ParameterValues, run: StreamRun, to: MaskedReceiver): Promise<void> {
  const { query, dialect, mask } = plan;
  const { facts, session, pseudonym, timeout_ms, signal } = run;
  const { groups } = facts.caller.identity;
  let columns: readonly Column[] = [];
  const masked = (part: readonly Row[]) => {
    const result = { columns, rows: [...part], truncated: false, affected_rows: null };
    return mask === null ? result : mask(result, groups, pseudonym);
  };
  const options = { timeout_ms, signal, session: session ?? undefined };
  await run.source.stream(bind(query.statement, dialect, values), options, {
    begin(described) {
      columns = described;
      to.begin(masked([]).columns);
    },
    rows: (part) => to.rows(mask === null ? part : masked(part).rows),
  });
}

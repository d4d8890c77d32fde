import type { WithLint } from '#core/definitions/lint/lint-index.ts';
import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import type { WithWorkingCopy } from '#core/versions/working-copy.ts';
import type { WithInsights } from './usage-of-period.ts';
import { createHash } from 'node:crypto';
import type { Insight } from '#core/contract/observe/insights.ts';
import { INSIGHT_RULES, type InsightRuleName } from '#core/contract/observe/insight-rules.ts';
import type { Observed } from './observed.ts';

/** What a rule finds; what all findings of the rule have in common is added. */
export interface InsightDraft extends Omit<Insight, 'id' | 'rule' | 'severity' | 'other' | 'logs' | 'fix' | 'evidence'> {
  /** Tells findings of one rule and entity apart. */
  readonly about?: string;
  readonly severity?: Insight['severity'];
  readonly other?: Insight['other'];
  readonly logs?: Insight['logs'];
  readonly fix?: Insight['fix'] | undefined;
  readonly evidence: {
    readonly count: number;
    readonly of: number;
    readonly first_at: string | null;
    readonly last_at: string | null;
  };
}

/** What functions of this room work with. */
export type InsightsApp = WithSources & WithInsights & WithLint & WithSnapshots & WithWorkingCopy;

/** One thing that is looked for in the use of the server. A rule is one file and its line in `index.ts`. */
export interface InsightRule {
  readonly name: InsightRuleName;
  /** What it finds is over once its tool has answered often enough since: a database can be repaired without a deploy. */
  readonly passes?: true;
  find(app: InsightsApp, observed: Observed): Promise<readonly InsightDraft[]> | readonly InsightDraft[];
}

export function toInsight(rule: InsightRuleName, { about = '', evidence, fix, ...found }: InsightDraft): Insight {
  const { kind, id, name } = found.entity;
  const detail = about === '' ? '' : `:${createHash('sha256').update(about).digest('hex').slice(0, 12)}`;
  const share = evidence.of === 0 ? 0 : Math.round((evidence.count / evidence.of) * 1_000) / 1_000;
  return {
    severity: INSIGHT_RULES[rule].severity,
    other: null,
    logs: null,
    ...found,
    id: `${rule}:${kind}:${id ?? name}${detail}`,
    rule,
    evidence: { ...evidence, share },
    ...(fix === undefined ? {} : { fix }),
  };
}

/** Ids that a finding carries. */
const MOST_CALLS = 10;

interface Dated {
  readonly id: number;
  readonly timestamp: string;
}

/** The newest of some calls, and when they were. */
export function behind(calls: readonly Dated[], count = calls.length, of = count) {
  const sorted = calls.toSorted((a, b) => (a.timestamp < b.timestamp ? 1 : a.timestamp > b.timestamp ? -1 : b.id - a.id));
  return {
    calls: sorted.slice(0, MOST_CALLS).map(({ id }) => String(id)),
    evidence: {
      count,
      of: Math.max(of, count),
      first_at: sorted.at(-1)?.timestamp ?? null,
      last_at: sorted[0]?.timestamp ?? null,
    },
  };
}

export const times = (count: number): string => (count === 1 ? 'once' : `${number(count)} times`);
export const number = (value: number): string => value.toLocaleString('en');
export const callsOf = (count: number): string => `${number(count)} ${count === 1 ? 'call' : 'calls'}`;
export const percent = (part: number, of: number): string => `${of === 0 ? 0 : Math.round((part / of) * 100)}%`;
/** A duration as people say it. */
export const seconds = (ms: number): string => (ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`);
/** The value that a share of others does not exceed. */
export function quantileOf(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * q) - 1)] ?? 0;
}

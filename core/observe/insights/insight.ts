import type { WithVersions } from '#core/versions/versions.ts';
import type { WithLint } from '#core/definitions/lint/lint-index.ts';
import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithInsights } from './usage-of-period.ts';
import { createHash } from 'node:crypto';
import type { Insight } from '#core/contract/observe/insights.ts';
import { INSIGHT_RULES, type InsightRuleName } from '#core/contract/observe/insight-rules.ts';
import type { Observed } from './observed.ts';

/** A finding of a rule. Fields that all findings of the rule share are added later. */
export interface InsightDraft extends Omit<Insight, 'id' | 'rule' | 'severity' | 'other' | 'logs' | 'fix' | 'evidence'> {
  /** Distinguishes findings with the same rule and entity. */
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

/** The app of functions about insights. */
export type InsightsApp = WithSources & WithInsights & WithLint & WithVersions;

/** A problem to look for in the use of the server. A rule is one file, and its line in `index.ts`. */
export interface InsightRule {
  readonly name: InsightRuleName;
  /** A finding ends once the tool has succeeded often enough since, because a database can be repaired without a deploy. */
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

/** Maximum call ids in a finding. */
const MOST_CALLS = 10;

interface Dated {
  readonly id: number;
  readonly timestamp: string;
}

/** The newest calls, and the time of the first and the last. */
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
/** A duration for display. */
export const seconds = (ms: number): string => (ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`);
/** The value that the share `q` of the values does not exceed. */
export function quantileOf(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * q) - 1)] ?? 0;
}

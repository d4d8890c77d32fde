import { CALL_OUTCOMES } from '#core/contract/observe/outcomes.ts';
import { INSIGHT_RULES, type InsightPeriod } from '#core/contract/observe/insight-rules.ts';
import type { Output } from '#core/contract/index.ts';
import type { Tone } from '#ui/src/components/badge.tsx';
import { callsHref, type Period } from '#ui/src/kernel/metrics.ts';
import { num } from '#ui/src/kernel/numbers.ts';
import { plural } from '#ui/src/kernel/words.ts';

export type Insight = Output<'insights.list'>['items'][number];

export const SEVERITY_TONES = { error: 'bad', warning: 'warning', info: 'info' } as const satisfies Record<
  Insight['severity'],
  Tone
>;
export const ruleLabel = ({ rule }: Pick<Insight, 'rule'>): string => INSIGHT_RULES[rule].label;

/** `12 of 40 calls`. */
export const evidenceOf = ({ evidence: { count, of } }: Insight): string =>
  count === of ? plural(count, 'time') : `${num(count)} of ${plural(of, 'call')}`;

/** The page of the record that a finding is about. */
export function entityHref({ entity: { kind, id } }: Insight): string | undefined {
  if (kind === 'token') return '/access';
  return id === null ? undefined : `/${kind}s/${id}`;
}

/** The address of a call with its stored details. */
export const callHref = (id: string): string => `/logs?${new URLSearchParams({ view: 'requests', call: id })}`;

/** The calls behind a finding in the request log, or the list of refusals. */
export function behindHref({ logs, rule }: Insight, period: InsightPeriod): string | undefined {
  if (rule === 'revoked-token') return '/logs?view=refusals&refused=unauthenticated';
  if (logs === null || rule === 'unused-tool') return undefined;
  const { name, connection_id: connection, outcome, success } = logs;
  const ended = success === 'false' ? ('failed' as const) : CALL_OUTCOMES.find((one) => one === outcome);
  return callsHref({
    ...(name === undefined ? {} : { name }),
    ...(connection === undefined ? {} : { connection }),
    ...(ended === undefined ? {} : { outcome: ended }),
    // The longest period of the log is a week; longer ranges show everything.
    range: period === '30d' ? 'all' : (period satisfies Period),
  });
}

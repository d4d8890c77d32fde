import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { Platform } from '#core/platform/platform.ts';
import { eq } from 'drizzle-orm';
import { onSignal, signal } from '#core/platform/signals.ts';
import { createPageQuestions, type PageQuestion } from '#core/edge/confirmation-page.ts';
import type { DecisionEvent } from '#core/contract/deploy/control.ts';
import { AppError } from '#core/errors.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import type { GrantRow } from './grants.ts';

/** A question is valid for two minutes. One minute is added for clocks of hosts and servers that differ. */
const TTL_MS = 180_000;
const decidedKey = (nonce: string): string => `confirmation:${nonce}`;

export const confirmationHandlers: Pick<
  Handlers<WithSources & WithDecisions & WithHosts>,
  `confirmations.${'get' | 'approve' | 'decline'}`
> = {
  'confirmations.get': async (context, { request }) => {
    const { app, actor } = context;
    const { question, grant } = await openQuestion(context, request);
    if ((await app.kv.get(decidedKey(question.nonce)).catch(() => null)) !== null) throw over();
    const { name, kind, host } = grant.client;
    return {
      tool: question.tool,
      title: question.title,
      statement: question.statement,
      affected_rows: question.all,
      direct_rows: question.direct,
      rows_before: question.before,
      arguments: question.arguments.map(([name, value]) => ({ name, value })),
      client: { name, kind, host },
      resource: grant.resource,
      person: { username: actor?.name ?? '' },
      expires_at: new Date(question.ends_at).toISOString(),
    };
  },
  'confirmations.approve': (context, { request }) => decide(context, request, true),
  'confirmations.decline': (context, { request }) => decide(context, request, false),
};

async function decide(
  context: Context<WithSources & WithDecisions & WithHosts>,
  request: string,
  approved: boolean,
): Promise<Record<string, never>> {
  const { app } = context;
  const { nonce } = (await openQuestion(context, request)).question;
  const { count } = await app.kv.increment(`${decidedKey(nonce)}:decisions`, TTL_MS);
  if (count > 1) throw over();
  // Only prevents the page from being shown again.
  await app.kv.set(decidedKey(nonce), 'decided', TTL_MS).catch(() => undefined);
  const news: DecisionEvent = { nonce, approved };
  sendDecision(app, news);
  await signal(app, 'decision', JSON.stringify(news));
  return {};
}

/** Forwards decisions of people at other servers to the hosts of this server. */
export const followDecisions = (app: Platform & WithDecisions & WithHosts): (() => void) =>
  onSignal(app, 'decision', (text) => sendDecision(app, JSON.parse(text) as DecisionEvent));

const toEvent = (data: DecisionEvent) => ({ event: 'decision', data }) as const;

function sendDecision(app: Platform & WithDecisions & WithHosts, news: DecisionEvent): void {
  const { decisions, hosts, clock } = app;
  const now = clock().getTime();
  for (const [nonce, { until }] of decisions) if (until <= now) decisions.delete(nonce);
  if (!decisions.has(news.nonce)) decisions.set(news.nonce, { news, until: now + TTL_MS });
  hosts.publish(toEvent(news));
}

/** Recent decisions for a host that connects, which may have missed them. Hosts use the first decision on a question. */
export const decisionEvents = ({ decisions, clock }: Platform & WithDecisions) =>
  [...decisions.values()].filter(({ until }) => until > clock().getTime()).map(({ news }) => toEvent(news));

const over = () =>
  new AppError('not_found', 'This request has expired, was decided already, or is not one of this server. Call the tool again.');

/** The address alone grants nothing: only the person whose client sent the question can open it. */
async function openQuestion(
  { app, actor }: Context,
  request: string,
): Promise<{ readonly question: PageQuestion; readonly grant: GrantRow }> {
  const question = createPageQuestions(app.env.SVC_ENCRYPTION_KEY).open(request);
  if (question === null || question.ends_at <= app.clock().getTime()) throw over();
  if (actor?.session_id === undefined || actor.id !== question.person) {
    throw new AppError('forbidden', 'This request is for another person. Sign in as the person whose client sent you here.');
  }
  const { oauth_grants: table } = app.store.tables;
  const [grant] = await app.store.db.select().from(table).where(eq(table.id, question.grant));
  if (grant === undefined || grant.person_id !== question.person) throw over();
  return { question, grant };
}

export interface WithDecisions {
  readonly decisions: Map<string, { readonly news: DecisionEvent; readonly until: number }>;
}

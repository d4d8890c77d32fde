import { and, desc, eq, gte, inArray, like } from 'drizzle-orm';
import { isAdministrator } from '#core/context/roles.ts';
import { type InsightRule, times } from './insight.ts';

/** The message that hosts record (`mcp-host/auth/bearer.ts`). */
const NOTED =
  /^The access token (\S+) (was revoked|expired without use|expired on \S+|was rotated, and its secret before ended on \S+)\.$/;

/**
 * A client still uses a revoked token. Every reader sees which token. Only administrators see details of the refused requests.
 */
export const revokedToken: InsightRule = {
  name: 'revoked-token',
  find: async ({ store }, { since, actor }) => {
    const for_administrator = isAdministrator(actor);
    const { refusals, mcp_tokens } = store.tables;
    const noted = await store.db
      .select({ timestamp: refusals.timestamp, reason: refusals.reason, client: refusals.client })
      .from(refusals)
      .where(
        and(eq(refusals.kind, 'unauthenticated'), like(refusals.reason, 'The access token %'), gte(refusals.timestamp, since)),
      )
      .orderBy(desc(refusals.id));
    const read = noted.flatMap(({ reason, ...refusal }) => {
      const [, prefix, ended] = NOTED.exec(reason) ?? [];
      return prefix === undefined || ended === undefined ? [] : [{ ...refusal, prefix, ended }];
    });
    const groups = [...Map.groupBy(read, ({ prefix }) => prefix)];
    if (groups.length === 0) return [];
    const { id, name, token_prefix } = mcp_tokens;
    const tokens = await store.db
      .select({ id, name, token_prefix })
      .from(mcp_tokens)
      .where(
        inArray(
          token_prefix,
          groups.map(([prefix]) => prefix),
        ),
      );
    return groups.map(([prefix, tries]) => {
      const token = tokens.find((one) => one.token_prefix === prefix);
      const clients = new Set(tries.flatMap(({ client }) => client ?? []));
      const [client] = clients;
      const by =
        client === undefined || !for_administrator
          ? ''
          : ` by ${client}${clients.size > 1 ? ` and ${clients.size - 1} more` : ''}`;
      const unnamed = for_administrator ? prefix : 'without a name';
      const called = token === undefined ? unnamed : for_administrator ? `${token.name} (${prefix})` : token.name;
      return {
        entity: { kind: 'token', id: token?.id ?? null, name: token?.name ?? unnamed },
        about: `${tries[0]?.ended ?? ''} ${prefix}`,
        message: `The access token ${called} ${tries[0]?.ended ?? 'ended'} and was still tried ${times(tries.length)}${by}.`,
        advice:
          'Give the client a new token, or remove it from the client; if nobody knows the client, somebody has a copy of the token.',
        calls: [],
        evidence: {
          count: tries.length,
          of: tries.length,
          first_at: tries.at(-1)?.timestamp ?? null,
          last_at: tries[0]?.timestamp ?? null,
        },
      };
    });
  },
};

import type { Platform } from '#core/platform/platform.ts';
import { eq } from 'drizzle-orm';
import type { FrozenServer } from '#snapshots/format/format.ts';
import { leavesOf } from '#snapshots/format/order.ts';
import type { Tree } from '#snapshots/format/tree.ts';
import type { DeployGate } from './gate.ts';

/**
 * Access tokens and OAuth clients hold names of toolsets. A toolset that was renamed, deleted or disabled takes from them what it
 * gave, and one that comes with a name that they hold gives them what it has.
 */
export const credentialsGate: DeployGate = {
  name: 'credentials',
  async run({ app }, { server, tree }, active) {
    // Nobody lost or got anything by the first version.
    if (active === null) return [];
    const [before, after] = [namesOf(active.tree), namesOf(tree)];
    const gone = [...before.difference(after)];
    const fresh = [...after.difference(before)];
    if (gone.length === 0 && fresh.length === 0) return [];
    const holders = [...(await tokensOf(app)), ...clientsOf(server)];
    const said = (names: readonly string[], sentence: (name: string, held: string) => string) =>
      names.flatMap((name) => {
        const held = holders.filter(({ toolsets }) => toolsets.includes(name)).map((holder) => holder.name);
        return held.length === 0 ? [] : [{ message: sentence(name, listed(held)) }];
      });
    return [
      ...said(gone, (name, held) => `The toolset ${name} is not in this version. It gives nothing more to ${held}.`),
      ...said(fresh, (name, held) => `The toolset ${name} is new in this version. It opens what it holds to ${held}.`),
    ];
  },
};

const namesOf = ({ leaves }: Tree): Set<string> => new Set(leavesOf(leaves, 'toolset').map(({ name }) => name));

interface Holder {
  readonly name: string;
  readonly toolsets: readonly string[];
}

async function tokensOf({ store }: Platform): Promise<Holder[]> {
  const { mcp_tokens } = store.tables;
  const { name, toolsets } = mcp_tokens;
  const rows = await store.db.select({ name, toolsets }).from(mcp_tokens).where(eq(mcp_tokens.revoked, false)).orderBy(name);
  return rows.map((row) => ({ name: `the access token ${row.name}`, toolsets: row.toolsets ?? [] }));
}

const clientsOf = ({ oauth_clients }: FrozenServer): Holder[] =>
  oauth_clients.map(({ client_id, toolsets }) => ({ name: `the OAuth client ${client_id}`, toolsets: toolsets ?? [] }));

/** Credentials that a sentence names. */
const MOST_NAMED = 5;

function listed(names: readonly string[]): string {
  const more = names.length - MOST_NAMED;
  return new Intl.ListFormat('en').format(more > 0 ? [...names.slice(0, MOST_NAMED), `${more} more`] : names);
}

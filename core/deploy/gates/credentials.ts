import type { Platform } from '#core/platform/platform.ts';
import { eq } from 'drizzle-orm';
import type { FrozenServer } from '#snapshots/format/format.ts';
import { leavesOf } from '#snapshots/format/order.ts';
import type { Tree } from '#snapshots/format/tree.ts';
import type { DeployGate } from './gate.ts';

/**
 * Access tokens and OAuth clients name their toolsets. When a toolset is renamed, deleted or disabled, they lose access, and when one
 * gets a name that they already have, they gain access.
 */
export const credentialsGate: DeployGate = {
  name: 'credentials',
  of_installation: true,
  async run({ app }, { server, tree }, active) {
    // Before the first version no access existed.
    if (active === null) return [];
    const [before, after] = [namesOf(active.tree), namesOf(tree)];
    const gone = [...before.difference(after)];
    const fresh = [...after.difference(before)];
    if (gone.length === 0 && fresh.length === 0) return [];
    const holders = [...(await tokensOf(app)), ...clientsOf(server)];
    const warnings = (names: readonly string[], sentence: (name: string, holders: string) => string) =>
      names.flatMap((name) => {
        const affected = holders.filter(({ toolsets }) => toolsets.includes(name)).map((holder) => holder.name);
        return affected.length === 0 ? [] : [{ message: sentence(name, listed(affected)) }];
      });
    return [
      ...warnings(gone, (name, of) => `The toolset ${name} is not in this version. It gives nothing more to ${of}.`),
      ...warnings(fresh, (name, of) => `The toolset ${name} is new in this version. It opens what it holds to ${of}.`),
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

/** Credentials in one message. */
const MAX_NAMES = 5;

function listed(names: readonly string[]): string {
  const more = names.length - MAX_NAMES;
  return new Intl.ListFormat('en').format(more > 0 ? [...names.slice(0, MAX_NAMES), `${more} more`] : names);
}

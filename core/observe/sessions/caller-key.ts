import { createHash } from 'node:crypto';
import type { CallGroup } from '#core/contract/observe/usage-batch.ts';

type Caller = Pick<CallGroup, 'client' | 'token_prefix' | 'caller'>;

/** Names who called: the client and whose credential it had. */
export const callerKey = ({ client, token_prefix, caller }: Caller): string =>
  digestOf([client, token_prefix, caller?.person, caller?.token, caller?.client_id]);

/** Names a session: that of the protocol, or its caller. */
export const sessionKey = ({ session, ...caller }: Caller & Pick<CallGroup, 'session'>): string =>
  session === undefined ? callerKey(caller) : digestOf([session]);

const digestOf = (said: readonly (string | null | undefined)[]): string =>
  createHash('sha256').update(JSON.stringify(said)).digest('base64url').slice(0, 22);

/** The columns that say who called, of each of these groups. */
export function callerColumns(groups: readonly CallGroup[]) {
  const text = (read: (group: CallGroup) => string | null | undefined) =>
    ({ type: 'text', cells: groups.map((group) => read(group) ?? null) }) as const;
  return {
    client: text(({ client }) => client),
    token_prefix: text(({ token_prefix }) => token_prefix),
    person: text(({ caller }) => caller?.person),
    token: text(({ caller }) => caller?.token),
    client_id: text(({ caller }) => caller?.client_id),
  };
}

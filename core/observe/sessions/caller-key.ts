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

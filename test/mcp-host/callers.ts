import { createHash } from 'node:crypto';
import type { LiveToken } from '#core/contract/deploy/control.ts';
import type { Claims } from '#core/query/identity.ts';
import { keyring } from './support.ts';

/** An access token as the server sends it to its hosts, and the header that a client sends. */
export interface TestCaller {
  readonly live: LiveToken;
  readonly headers: { readonly authorization: string };
}

export async function testCaller(name: string, claims: Claims): Promise<TestCaller> {
  const token = `svc_mcp_${createHash('sha256').update(name).digest('hex').slice(0, 40)}`;
  const id = crypto.randomUUID();
  const hash = await Bun.password.hash(token, { algorithm: 'bcrypt', cost: 4 });
  const live = {
    id,
    name,
    token_prefix: token.slice(0, 12),
    idle_timeout_minutes: null,
    expires_at: null,
    last_used_at: null,
    revoked: false,
    created_at: new Date().toISOString(),
    digest: createHash('sha256').update(token).digest('hex'),
    secret_hash: { $sealed: keyring.seal(hash, `mcp_token/${id}/secret_hash`) },
    toolsets: null,
    claims,
  };
  return { live, headers: { authorization: `Bearer ${token}` } };
}

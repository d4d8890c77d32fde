import { expect } from 'bun:test';
import type { RpcAnswer } from '#test/mcp-host/support.ts';
import type { Answer } from '#test/support/app.ts';
import { testIssuer } from '#test/support/issuer.ts';
import { testKey } from '#test/support/signed-tokens.ts';

interface Signed {
  readonly patch: (body: object) => Promise<Answer>;
  readonly deploy: () => Promise<Answer>;
  readonly initialize: (headers?: Record<string, string>) => Promise<RpcAnswer>;
  /** Creates an access token. */
  readonly token: () => Promise<string>;
}

/** Signed tokens of an issuer that is set, and access tokens beside them for as long as the setting says. */
export async function signedTokens({ patch, deploy, initialize, token }: Signed): Promise<void> {
  const statusWith = async (credential: string) => (await initialize({ authorization: `Bearer ${credential}` })).status;
  const issuer = testIssuer();
  try {
    const key = await testKey();
    issuer.keys = [key.public_key];
    const own = await token();
    const now = Math.floor(Date.now() / 1_000);
    const signed = await key.sign({ iss: issuer.url, aud: 'shop', sub: 'u1', iat: now, exp: now + 300 });
    await patch({ auth_type: 'jwt', jwt_issuers: [{ issuer: issuer.url, audience: 'shop' }] });
    expect((await deploy()).status).toBe(200);
    expect([await statusWith(signed), await statusWith(own), await statusWith('other')]).toEqual([200, 200, 401]);
    await patch({ accept_mcp_tokens: false });
    await deploy();
    expect([await statusWith(signed), await statusWith(own)]).toEqual([200, 401]);
    await patch({ accept_mcp_tokens: true, jwt_issuers: [{ issuer: issuer.url, audience: 'another' }] });
    await deploy();
    expect([await statusWith(signed), await statusWith(own)]).toEqual([401, 200]);
  } finally {
    await patch({ auth_type: 'none', jwt_issuers: [], accept_mcp_tokens: true });
    await deploy();
    await issuer.stop();
  }
}

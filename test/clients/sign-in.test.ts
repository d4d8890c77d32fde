import { afterAll, beforeAll, expect, test } from 'bun:test';
import { joinAs, type PersonBrowser, personBrowser } from '../support/person-browser.ts';
import { freePort } from '../support/free-port.ts';
import { type Programs, removeFolder, startPrograms } from '../support/programs.ts';
import { untilWithin } from '../support/until.ts';
import { startTlsFront, type TlsFront } from '../support/tls-front.ts';
import { isInstalled, SIGN_IN, withSetup } from './client.ts';
import { SIGNING_IN, type SigningIn } from './sign-ins.ts';

/** Clients that people use sign in by OAuth at the programs as `npm start` runs them, with the sample shop. */
const CALL = { name: 'search_products', arguments: { categories: ['garden', 'sports'], max_price: 20, limit: 5 } };
const ACCOUNT = { username: 'carl', password: 'a long password' };
const LIMIT_MS = 180_000;

/** As on one machine, and as on the internet: behind a proxy with a certificate, at one address for people and clients. */
const ADDRESSES = ['http', 'https'] as const;
interface Deployed {
  readonly programs: Programs;
  readonly mcp_url: string;
  readonly person: string;
  readonly browser: PersonBrowser;
  /** What lets programs trust the proxy. */
  readonly env: Readonly<Record<string, string>>;
}
const deployed = new Map<(typeof ADDRESSES)[number], Deployed>();
let front: TlsFront;
beforeAll(async () => {
  const [port, behind] = [freePort(), freePort()];
  front = await startTlsFront(freePort(), () => `http://127.0.0.1:${behind}`);
  const trust = { NODE_EXTRA_CA_CERTS: front.ca_file, SSL_CERT_FILE: front.ca_file };
  deployed.set('http', await deployProgram(port, `http://127.0.0.1:${port}`, {}));
  deployed.set('https', await deployProgram(behind, front.url, trust));
}, LIMIT_MS);
afterAll(async () => {
  for (const { programs } of deployed.values()) {
    await programs.stop();
    removeFolder(programs);
  }
  await front?.stop();
}, LIMIT_MS);

async function deployProgram(port: number, public_url: string, env: Deployed['env']): Promise<Deployed> {
  const is_proxied = public_url.startsWith('https:');
  const variables = { SVC_PUBLIC_URL: public_url, ...(is_proxied && { SVC_TRUSTED_PROXIES: '127.0.0.1/32' }) };
  const programs = await startPrograms({ port, env: variables });
  await programs.signIn();
  await programs.demo();
  await programs.api('PATCH', '/server/config', { auth_type: 'oauth', mcp_proxy: is_proxied });
  await programs.api('POST', '/deploy', {});
  await untilWithin(60_000, async () => (await fetch(programs.mcp_url, { method: 'POST' })).status === 401);
  const person = await joinAs(programs, { username: ACCOUNT.username, role: 'caller' }, ACCOUNT.password);
  const browser = await personBrowser(public_url, ACCOUNT, is_proxied ? front.ca : undefined);
  return { programs, mcp_url: is_proxied ? `${public_url}/mcp` : programs.mcp_url, person, browser, env };
}

interface Grant {
  readonly id: string;
  readonly last_used_at: string;
  readonly person: { readonly username: string };
}

for (const client of SIGNING_IN) {
  for (const address of ADDRESSES) {
    const title = `${client.name} signs in over ${address} from the 401, calls a tool, renews its token, and asks again when its grant has ended`;
    if (!isInstalled(client)) test.skip(`${title}: ${client.package} is not installed in test/clients`, () => {});
    else test(title, () => walk(client, address), LIMIT_MS);
  }
}

function walk(client: SigningIn, address: (typeof ADDRESSES)[number]): Promise<void> {
  const at = deployed.get(address);
  if (at === undefined) throw new Error('It was not deployed.');
  const { programs, mcp_url, person, browser, env } = at;
  const grants = async () => (await programs.api<{ items: Grant[] }>('GET', '/grants')).items;
  return withSetup({ url: mcp_url, token: '', call: CALL, env }, async (setup) => {
    // The browser ends up at the client's own address, with the answer.
    const signed_in = await client.signIn(setup, async (url) => {
      const answered = await fetch(await browser.consent(url));
      expect(answered.status).toBeLessThan(400);
    });
    try {
      expect(await signed_in.call()).toContain('Candle');
      const [first] = await grants();
      expect(first?.person.username).toBe(ACCOUNT.username);

      // Tokens from before a change of the groups count no more: the client gets a new one, and asks nobody.
      const { version } = await programs.api<{ version: number }>('GET', `/people/${person}`);
      await programs.api('PATCH', `/people/${person}`, { groups: [client.name], version });
      expect(await signed_in.call()).toContain('Candle');
      const [renewed, ...others] = await grants();
      expect([renewed?.id, others]).toEqual([first?.id, []]);
      expect(Date.parse(renewed?.last_used_at ?? '')).toBeGreaterThan(Date.parse(first?.last_used_at ?? ''));

      await programs.api('DELETE', `/grants/${first?.id}`);
      expect(await signed_in.refused()).toMatch(new RegExp(`${SIGN_IN.source}|Needs authentication|AuthRequired`));
      expect(await grants()).toEqual([]);
    } finally {
      await signed_in.close();
      // One client that failed leaves nothing for the next one.
      for (const { id } of await grants()) await programs.api('DELETE', `/grants/${id}`);
    }
  });
}

test('over https every document that clients look for names the one address', async () => {
  const read = async (path: string) => {
    const answer = await fetch(`${front.url}/.well-known/${path}`, { tls: { ca: front.ca } });
    return answer.status === 200 ? ((await answer.json()) as Record<string, unknown>) : answer.status;
  };
  for (const path of ['oauth-protected-resource', 'oauth-protected-resource/mcp']) {
    expect(await read(path)).toMatchObject({ resource: `${front.url}/mcp`, authorization_servers: [front.url] });
  }
  for (const path of ['oauth-authorization-server', 'oauth-authorization-server/mcp']) {
    expect(await read(path)).toMatchObject({ issuer: front.url, authorization_endpoint: `${front.url}/oauth/authorize` });
  }
  expect(await read('openid-configuration')).toBe(404);
});

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { joinAs, type PersonBrowser, personBrowser } from '../support/person-browser.ts';
import { freePort, type Programs, removeFolder, startPrograms, until } from '../support/programs.ts';
import { isInstalled, SIGN_IN, withSetup } from './client.ts';
import { SIGNING_IN } from './sign-ins.ts';

/** Clients that people use sign in by OAuth at the programs as `npm start` runs them, with the sample shop. */
const CALL = { name: 'search_products', arguments: { categories: ['garden', 'sports'], max_price: 20, limit: 5 } };
const ACCOUNT = { username: 'carl', password: 'a long password' };
const LIMIT_MS = 180_000;

const port = freePort();
const PUBLIC_URL = `http://127.0.0.1:${port}`;
let programs: Programs;
let carl: string;
let browser: PersonBrowser;
beforeAll(async () => {
  programs = await startPrograms({ port, env: { SVC_PUBLIC_URL: PUBLIC_URL } });
  await programs.signIn();
  await until(
    () => programs.output().includes('curl'),
    20_000,
    () => programs.output(),
  );
  await programs.api('PATCH', '/server/config', { auth_type: 'oauth' });
  await programs.api('POST', '/deploy', {});
  await until(async () => (await fetch(programs.mcp_url, { method: 'POST' })).status === 401, 60_000);
  carl = await joinAs(programs, { username: ACCOUNT.username, role: 'caller' }, ACCOUNT.password);
  browser = await personBrowser(PUBLIC_URL, ACCOUNT);
}, LIMIT_MS);
afterAll(async () => {
  await programs?.stop();
  if (programs !== undefined) removeFolder(programs);
}, LIMIT_MS);

interface Grant {
  readonly id: string;
  readonly last_used_at: string;
  readonly person: { readonly username: string };
}
const grants = async () => (await programs.api<{ items: Grant[] }>('GET', '/grants')).items;

for (const client of SIGNING_IN) {
  const title = `${client.name} signs in from the 401, calls a tool, renews its token, and asks again when its grant has ended`;
  if (!isInstalled(client)) test.skip(`${title}: ${client.package} is not installed in test/clients`, () => {});
  else test(title, () => withSetup({ url: programs.mcp_url, token: '', call: CALL }, run), LIMIT_MS);

  const run = async (setup: Parameters<typeof client.signIn>[0]): Promise<void> => {
    // The browser ends up at the client's own address, with the answer.
    const signed_in = await client.signIn(setup, async (address) => {
      const answered = await fetch(await browser.consent(address));
      expect(answered.status).toBeLessThan(400);
    });
    try {
      expect(await signed_in.call()).toContain('Candle');
      const [first] = await grants();
      expect(first?.person.username).toBe('carl');

      // Tokens from before a change of the groups count no more: the client gets a new one, and asks nobody.
      const { version } = await programs.api<{ version: number }>('GET', `/people/${carl}`);
      await programs.api('PATCH', `/people/${carl}`, { groups: [client.name], version });
      expect(await signed_in.call()).toContain('Candle');
      const [renewed, ...others] = await grants();
      expect([renewed?.id, others]).toEqual([first?.id, []]);
      expect(Date.parse(renewed?.last_used_at ?? '')).toBeGreaterThan(Date.parse(first?.last_used_at ?? ''));

      await programs.api('DELETE', `/grants/${first?.id}`);
      expect(await signed_in.refused()).toMatch(new RegExp(`${SIGN_IN.source}|Needs authentication|AuthRequired`));
      expect(await grants()).toEqual([]);
    } finally {
      await signed_in.close();
    }
  };
}

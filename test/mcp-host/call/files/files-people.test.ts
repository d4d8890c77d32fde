import { beforeEach, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { EndedGrant } from '#core/contract/deploy/control.ts';
import { identityFile } from '#mcp-host/auth/signed/identity-state.ts';
import { authSettings, connectionOf, snapshotOf, sqliteFolder, testHost, toolOf, type TestHost } from '#test/mcp-host/support.ts';
import { toolsetOf } from '#test/mcp-host/toolsets/toolsets-support.ts';
import { useHost } from '#test/mcp-host/use-host.ts';
import { on_deno } from '#test/support/deno.ts';
import { identityOf, personClaims, type TestKey, testKey } from '#test/support/signed-tokens.ts';
import { until } from '#test/support/until.ts';
import { download, fileOf } from './files-support.ts';

const signedIn = (directory: string) => ({
  auth: { ...authSettings(directory), identity: identityFile(join(directory, 'identity.json')) },
});
const { control, host, closing } = useHost('each', signedIn);
const shop = connectionOf({});
const tools = [toolOf(shop, 'mine', 'select 1 as n', { tags: ['all'], files: 'csv' })];
const toolsets = [toolsetOf('sales', { tags: ['all'] }, { files: true, groups: ['emea'] })];
let key: TestKey;
let other: TestHost;

async function sendIdentity(ended: EndedGrant[] = []): Promise<void> {
  const list = identityOf([key], ended);
  const has = ({ log }: TestHost) =>
    log.some(({ message, fields }) => message === 'identity_list' && fields['as_of'] === list.as_of);
  control.send('identity', list);
  await until(() => has(host) && has(other));
}
beforeEach(async () => {
  key = await testKey();
  const folder = sqliteFolder();
  other = await testHost(folder.directory, control.url, signedIn(folder.directory));
  closing.push(async () => {
    await other.stop();
    folder.remove();
  });
  await until(async () => (await other.health()).control.connected);
  await control.deploy(snapshotOf(1, { connections: [shop], tools, toolsets, server: { auth_type: 'oauth' } }));
  await until(async () => (await other.health()).snapshot_version === 1 && (await host.health()).snapshot_version === 1);
  await sendIdentity();
});
const bearer = async (more: object = {}) => ({
  authorization: `Bearer ${await key.sign(personClaims(host.mcp.href, Date.now(), { ...more }))}`,
});
const at = (url: string, there: TestHost) => `${there.mcp.origin}${new URL(url).pathname}`;

test.skipIf(on_deno)(
  'a signed-in person downloads from any host of the installation, and nobody after the grant ended',
  async () => {
    const { url } = await fileOf(host, 'mine', {}, await bearer());
    expect((await download(url)).text).toBe('n\r\n1\r\n');
    // The other host never saw the token.
    expect((await download(at(url, other))).text).toBe('n\r\n1\r\n');
    await sendIdentity([{ grant: 'grant-1', before: Math.floor(Date.now() / 1_000), seq: 1 }]);
    expect((await download(url)).status).toBe(404);
    expect((await download(at(url, other))).status).toBe(404);
  },
);

test.skipIf(on_deno)('a download with the sign-in of another person, or of a person who lost the group, is 404', async () => {
  const { url } = await fileOf(host, 'mine', {}, await bearer());
  const headers = await bearer({ sub: 'person-2', grant: 'grant-2' });
  expect((await download(url, { headers })).status).toBe(404);
  expect((await download(url, { headers: await bearer() })).status).toBe(200);
  // The newest sign-in of the grant decides.
  await fileOf(
    host,
    'mine',
    {},
    await bearer({ iat: Math.floor(Date.now() / 1_000) + 1, exp: Math.floor(Date.now() / 1_000) + 7_200, groups: [] }),
  ).catch(() => undefined);
  expect((await download(url)).status).toBe(404);
});

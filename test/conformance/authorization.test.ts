import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createRequire } from 'node:module';
import { freePort } from '#test/support/free-port.ts';
import { listeningServer, type ListeningServer } from '#test/support/server.ts';

const SUITE = createRequire(import.meta.url)
  .resolve('@modelcontextprotocol/conformance/package.json')
  .replace('package.json', 'dist/index.js');
const LIMIT_MS = 60_000;

const port = freePort();
const issuer = `http://localhost:${port}`;
let s: ListeningServer;
let cookie = '';
beforeAll(async () => {
  s = await listeningServer(undefined, { SVC_PORT: String(port) });
  cookie = await s.signIn();
});
afterAll(() => s.stop());

/** Runs the official suite for authorization servers. @param onAddress follows the address that it prints, as a person would. */
async function runSuite(more: readonly string[], onAddress: (address: URL) => Promise<void>) {
  const child = Bun.spawn([process.execPath, SUITE, 'authorization', '--url', issuer, ...more], {
    stdout: 'pipe',
    stderr: 'pipe',
    env: { ...process.env, NO_COLOR: '1' },
  });
  let printed = '';
  let followed = false;
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      printed += decoder.decode(chunk, { stream: true });
      const address = /(http:\/\/localhost:\d+\/oauth\/authorize\?\S+)\s/.exec(printed)?.[1];
      if (address === undefined || followed) continue;
      followed = true;
      await onAddress(new URL(address));
    }
  };
  await Promise.all([read(child.stdout), read(child.stderr)]);
  return { code: await child.exited, printed };
}

test(
  'the official suite finds the metadata as it should be, and signs in with a code',
  async () => {
    const callback = freePort();
    const { body: app } = await s.api('POST', '/oauth-apps', {
      name: 'Conformance',
      redirect_uris: [`http://127.0.0.1:${callback}/callback`],
    });
    const more = ['--client-id', String(app['client_id']), '--resource', 'http://localhost:8080/mcp', '-p', String(callback)];
    const { code, printed } = await runSuite(more, async (address) => {
      const begun = await fetch(address, { redirect: 'manual' });
      const request = new URL(begun.headers.get('location') ?? '', issuer).searchParams.get('request') ?? '';
      const decided = await fetch(`${issuer}/api/v1/oauth/requests/${request}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          cookie: `${cookie}; ${begun.headers.get('set-cookie')?.split(';')[0]}`,
        },
        body: JSON.stringify({ decision: 'approve' }),
      });
      const { redirect_to = '' } = (await decided.json()) as { redirect_to?: string };
      await fetch(redirect_to);
    });
    expect([code, code === 0 ? '' : printed]).toEqual([0, '']);
    for (const name of ['authorization-server-metadata-endpoint', 'authorization-code-grant']) expect(printed).toContain(name);
    expect(printed).not.toMatch(/\b[1-9]\d* (failed|warnings)/);
  },
  LIMIT_MS,
);

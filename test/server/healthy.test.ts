import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { freePort } from '#test/support/free-port.ts';

const PROGRAM = join(import.meta.dir, '../../server/healthy.ts');
const PORTS = { server: 'SVC_PORT', host: 'SVC_FASTMCP_PORT', agent: 'SVC_AGENT_MCP_PORT', all: 'SVC_PORT' };

/** Starts a program that answers probes at an address. @returns the exit code of a health check of a role that is bound to another. */
async function check(role: keyof typeof PORTS, listens: string, bound: string): Promise<number> {
  const port = freePort();
  const program = Bun.serve({ hostname: listens, port, fetch: () => new Response('ok') });
  const env = {
    SVC_ROLE: role,
    SVC_ENV: 'production',
    SVC_AGENT_SERVICE_TOKEN: 'f'.repeat(16) + 'e'.repeat(16),
    SVC_BIND: bound,
    [PORTS[role]]: String(port),
  };
  try {
    return await Bun.spawn([process.execPath, PROGRAM], { env, stdio: ['ignore', 'ignore', 'ignore'] }).exited;
  } finally {
    await program.stop(true);
  }
}

test.each([
  ['server', '127.0.0.2', '127.0.0.2'],
  ['all', '0.0.0.0', '0.0.0.0'],
  ['agent', '::1', '::1'],
  ['server', '::', '::'],
  ['host', '127.0.0.1', '127.0.0.2'],
] as const)('a health check of the %s that listens on %s requests it there', async (role, listens, bound) => {
  expect(await check(role, listens, bound)).toBe(0);
});

test('a health check fails when another program answers at the address of the loopback', async () => {
  expect(await check('server', '127.0.0.1', '127.0.0.2')).toBe(1);
});

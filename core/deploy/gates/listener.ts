import type { DeployGate } from './gate.ts';

/** How long hosts may take to open an address. */
const PROBE_MS = 5_000;

/** A new address is opened before the old one closes; a host that cannot bind it refuses the deploy. */
export const listenerGate: DeployGate = {
  name: 'listener',
  acts: true,
  async run({ app }, { server: { host, port } }, active) {
    if (active?.server.host === host && active.server.port === port) return [];
    await app.hosts.refresh();
    const refusals = await app.hosts.probe(host, port, app.ids(), PROBE_MS);
    if (refusals.length === 0) return [];
    return [{ refusal: 'cannot_deploy', message: `The MCP host cannot listen on ${host}:${port}: ${refusals.join(' ')}` }];
  },
};

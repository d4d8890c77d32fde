import type { DeployGate } from './gate.ts';

/** Hosts open a new address before they close the old one. If one cannot, the deploy is refused. */
export const listenerGate: DeployGate = {
  name: 'listener',
  of_installation: true,
  has_effects: true,
  async run({ app }, { server: { host, port } }, active) {
    if (active?.server.host === host && active.server.port === port) return [];
    await app.hosts.refresh();
    const refusals = await app.hosts.probe(host, port, app.ids(), app.waits.hosts_ms);
    if (refusals.length === 0) return [];
    return [{ refusal: 'cannot_deploy', message: `The MCP host cannot listen on ${host}:${port}: ${refusals.join(' ')}` }];
  },
};

import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithDeployLock } from './deploy-locks.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import { type WithSnapshots, contentOf, readSnapshot } from '#core/versions/stored-snapshots.ts';
import { AppError, invalidField } from '#core/errors.ts';
import { leavesOf } from '#snapshots/format/order.ts';
import { onlyToolset } from '#snapshots/format/toolsets.ts';
import type { Handlers } from '#core/context/context.ts';
import { PRODUCT_VERSION } from '#core/process/version.ts';
import { readServerConfig } from '#core/settings/settings.ts';
import { activeSnapshot, readDeployment } from '#core/versions/deployment.ts';
import { statusOf } from './status.ts';
import { snapshotToServe } from './exposure.ts';
import { generatedFiles, snapshotOf } from './generated.ts';
import { registryEntry, stdioCommand } from './connect.ts';
import { mcpUrl } from '#core/settings/public-urls.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import type { FrozenConnection } from '#snapshots/format/format.ts';
import { createFrozenSources } from '#core/sources/frozen-sources.ts';

const PROBE_TIMEOUT_MS = 3_000;

export const serverHandlers: Pick<
  Handlers<WithSources & WithDeployLock & WithHosts & WithSnapshots>,
  'health.get' | `server.${'health' | 'stdio' | 'registry' | 'generated'}`
> = {
  'health.get': () => ({ status: 'ok' as const, version: PRODUCT_VERSION }),
  'server.health': async ({ app }) => {
    const [state, active, { refused }] = await Promise.all([
      readDeployment(app),
      activeSnapshot(app),
      snapshotToServe(app),
      app.hosts.refresh(),
    ]);
    const server = active?.server ?? (await readServerConfig(app));
    const used = leavesOf(active?.tree.leaves ?? [], 'connection');
    const { connections } = await contentOf(app, used);
    return {
      status: await statusOf(app, state, refused),
      snapshot_version: state.active_version,
      server_name: server.server_name,
      transport: server.transport,
      auth_type: server.auth_type,
      mcp_url: await mcpUrl(app, server.port),
      hosts: app.hosts.list(),
      counts: active?.counts ?? { connections: 0, tools: 0, resources: 0, prompts: 0 },
      connections: await probeConnections(app, connections),
    };
  },
  'server.stdio': ({ app }) => stdioCommand(app.env),
  'server.registry': async ({ app }) => {
    const [active, { active_version }] = await Promise.all([activeSnapshot(app), readDeployment(app)]);
    if (active === null || active_version === null) throw new AppError('not_found', 'Nothing is deployed yet. Deploy first.');
    return registryEntry(active.server, active_version, await mcpUrl(app, active.server.port));
  },
  'server.generated': async ({ app }, { snapshot, toolset }) => {
    const version = snapshot ?? (await readDeployment(app)).active_version;
    const stored = version === null ? null : await readSnapshot(app, version);
    if (stored === null) {
      throw new AppError(
        'not_found',
        version === null ? 'Nothing is deployed yet. Deploy first.' : `There is no snapshot ${version}.`,
      );
    }
    const whole = await snapshotOf(app, stored);
    const toolsets = whole.content.toolsets.map(({ name }) => name);
    const shown = toolset === undefined ? whole : onlyToolset(whole, toolset);
    if (shown === null) throw invalidField('toolset', `Version ${stored.version} has no toolset ${String(toolset)}.`);
    return { snapshot_version: stored.version, language: 'typescript' as const, toolsets, files: await generatedFiles(shown) };
  },
};

const SILENT = { healthy: false, lag_ms: null };

/** Tests whether the database of every deployed connection answers, with the deployed settings. */
async function probeConnections(app: WithSources, deployed: readonly FrozenConnection[]) {
  const sources = createFrozenSources(app);
  const answers = async (connection: FrozenConnection) => {
    const source = await sources.of(connection);
    const [, hosts = []] = await Promise.all([source.test(), source.hosts?.()]);
    const lags = hosts.flatMap(({ lag_ms }) => (lag_ms === null ? [] : [lag_ms]));
    return { healthy: true, lag_ms: lags.length === 0 ? null : Math.max(...lags) };
  };
  const probed = await Promise.all(
    deployed
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map(async (connection) => {
        const probed = await withTimeout(answers(connection), PROBE_TIMEOUT_MS, () => SILENT).catch(() => SILENT);
        return { id: connection.id, name: connection.name, ...probed };
      }),
  );
  app.background(sources.close());
  return probed;
}

import { type DeployApp, createDeploys } from '#core/deploy/app.ts';
import { type WithTestRuns, createTestRuns } from '#core/definitions/tests/run-tests.ts';
import { type WithIdentity, type IdentityOptions, createIdentity } from '#core/identity/identity.ts';
import { type WithCountries, createCountries } from '#core/observe/countries.ts';
import { type WithInsights, createInsightCache } from '#core/observe/insights/usage-of-period.ts';
import { type WithOverlays, createOverlays } from '#core/proposals/overlays.ts';
import { type PlatformOptions, createPlatform } from '#core/platform/platform.ts';
import { hostAddresses } from '#core/engines/shared/policy.ts';
import { pruneAudit } from '#core/audit/prune.ts';
import { createLint } from '#core/definitions/lint/lint-index.ts';
import { createHosts } from '#core/hosts/host-registry.ts';
import { readSettings } from '#core/settings/settings.ts';
import { createSourcePool } from '#core/sources/source-pool.ts';
import { createVersions } from '#core/versions/versions.ts';
import { forgetCredentials } from '#core/identity/agent-credentials.ts';
import { forgetEvents } from '#core/observe/notices/event-handlers.ts';
import { forgetDeliveries } from '#core/observe/notices/send.ts';
import { createRetention } from '#core/observe/retention/usage-retention.ts';
import { forgetClosed } from '#core/proposals/rows.ts';

/** Deletes expired records of all rooms. */
export const { pruneUsage, startRetention } = createRetention({
  together: [forgetCredentials, forgetClosed],
  after: [forgetEvents, forgetDeliveries, pruneAudit],
});

/** The state of all rooms: the whole product without its edges. */
export type ControlPlane = DeployApp & WithTestRuns & WithIdentity & WithCountries & WithInsights & WithOverlays;

export type ControlPlaneOptions = PlatformOptions & IdentityOptions;

/** Creates the platform, then each room after the rooms that it needs. */
export async function createControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const hosts_state = createHosts(options.clock);
  const platform = await createPlatform(options, {
    async forbidden() {
      const { settings } = await readSettings(platform);
      const urls = hosts_state.hosts.list().map(({ url }) => url);
      return hostAddresses(options.env, [settings.port], urls);
    },
    secretTtl: async () => (await readSettings(platform)).settings.secret_ref_ttl_seconds,
    closeFirst: () => countries.close(),
    async closeLast() {
      await overlays.close();
      await sources.close();
    },
  });
  const sources = createSourcePool(platform.policy, platform.secrets);
  const countries = createCountries(platform);
  const overlays = createOverlays();
  return {
    ...platform,
    ...hosts_state,
    ...createVersions(),
    ...createLint(),
    ...createTestRuns(),
    ...createIdentity(platform, options),
    ...createDeploys(platform),
    sources,
    countries,
    insights: createInsightCache(),
    overlays,
  };
}

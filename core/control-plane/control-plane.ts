import { hostAddresses } from '#core/engines/shared/policy.ts';
import { createDeploys, type DeployApp } from '#core/deploy/app.ts';
import { createLint } from '#core/definitions/lint/lint-index.ts';
import { createTestRuns, type WithTestRuns } from '#core/definitions/tests/run-tests.ts';
import { createHosts } from '#core/hosts/host-registry.ts';
import { createIdentity, type IdentityOptions, type WithIdentity } from '#core/identity/identity.ts';
import { createCountries, type WithCountries } from '#core/observe/countries.ts';
import { createInsightCache, type WithInsights } from '#core/observe/insights/usage-of-period.ts';
import { createPlatform, type PlatformOptions } from '#core/platform/platform.ts';
import { createOverlays, type WithOverlays } from '#core/proposals/overlays.ts';
import { readSettings } from '#core/settings/settings.ts';
import { createSourcePool } from '#core/sources/source-pool.ts';
import { createVersions } from '#core/versions/versions.ts';

/** All that rooms keep, in one record: the whole product without its edges. */
export type ControlPlane = DeployApp & WithTestRuns & WithIdentity & WithCountries & WithInsights & WithOverlays;

export type ControlPlaneOptions = PlatformOptions & IdentityOptions;

/** Makes the platform and then every room, each after those that it needs. */
export async function createControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const held = createHosts(options.clock);
  const platform = await createPlatform(options, {
    async forbidden() {
      const { settings } = await readSettings(platform);
      const urls = held.hosts.list().map(({ url }) => url);
      return hostAddresses(options.env, [settings.port], urls);
    },
    closeFirst: () => countries.close(),
    async closeLast() {
      await overlays.close();
      await sources.close();
    },
  });
  const sources = createSourcePool(platform.policy, platform.keyring);
  const countries = createCountries(platform);
  const overlays = createOverlays();
  return {
    ...platform,
    ...held,
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

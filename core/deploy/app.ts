import type { WithVersions } from '#core/versions/versions.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { WithSources } from '#core/sources/source-pool.ts';
import { createLock } from '#core/store/open.ts';
import { createTurnLock } from '#core/store/turns.ts';
import type { WithVerifiedStatements } from '#core/deploy/checks/describe-again.ts';
import type { WithDeployLock } from '#core/deploy/deploy-locks.ts';
import type { WithGenerated } from '#core/deploy/generated.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { WithLint } from '#core/definitions/lint/lint-index.ts';
import type { WithPending } from '#core/deploy/pending.ts';
import { createSigning, type WithSigning } from '#core/deploy/signing/sign.ts';
import { createReplayRequests, type WithReplays } from '#core/deploy/replay-calls.ts';

/** The state of deploys in memory. */
export type WithDeploys = WithVerifiedStatements & WithDeployLock & WithGenerated & WithPending & WithReplays & WithSigning;

/** The app of functions about deploys. */
export type DeployApp = WithSources & WithHosts & WithLint & WithVersions & WithDeploys;

export const createDeploys = ({ clock, ids }: Pick<Platform, 'clock' | 'ids'>): WithDeploys => ({
  deploy_lock: createTurnLock(),
  switch_lock: createTurnLock(),
  waiting_deploys: new Map(),
  generated_lock: createLock(),
  pending: null,
  tool_tokens: new Map(),
  verified_statements: { since: clock().getTime(), schemas: new Map() },
  replays: createReplayRequests(ids()),
  ...createSigning(),
});

/** State for a copy of the configuration, whose deploys are only tried. Hosts, replays and verified statements stay those of the app. */
export const deploysOfCopy = (): WithPending & Pick<WithDeployLock, 'deploy_lock' | 'switch_lock'> => ({
  deploy_lock: createTurnLock(),
  switch_lock: createTurnLock(),
  pending: null,
  tool_tokens: new Map(),
});

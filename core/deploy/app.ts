import type { Platform } from '#core/platform/platform.ts';
import type { WithSources } from '#core/sources/source-pool.ts';
import { createLock } from '#core/store/open.ts';
import type { WithAskedStatements } from '#core/deploy/checks/describe-again.ts';
import type { WithDeployLock } from '#core/deploy/turns.ts';
import type { WithGenerated } from '#core/deploy/generated.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { WithLint } from '#core/definitions/lint/lint-index.ts';
import type { WithPending } from '#core/deploy/pending.ts';
import { createReplayRequests, type WithReplays } from '#core/deploy/replay-calls.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import type { WithWorkingCopy } from '#core/versions/working-copy.ts';

/** What deploys keep in memory. */
export type WithDeploys = WithAskedStatements & WithDeployLock & WithGenerated & WithPending & WithReplays;

/** What functions of this room work with. */
export type DeployApp = WithSources & WithHosts & WithLint & WithSnapshots & WithWorkingCopy & WithDeploys;

export const createDeploys = ({ clock, ids }: Pick<Platform, 'clock' | 'ids'>): WithDeploys => ({
  deploy_lock: createLock(),
  switch_lock: createLock(),
  waiting_deploys: new Map(),
  generated_lock: createLock(),
  pending: null,
  tool_tokens: new Map(),
  verified_statements: { since: clock().getTime(), asked: new Map() },
  replays: createReplayRequests(ids()),
});

import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithDeployLock } from '#core/deploy/turns.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { WithLint } from '#core/definitions/lint/lint-index.ts';
import type { WithOverlays } from '#core/proposals/overlays.ts';
import type { WithReplays } from '#core/deploy/replay-calls.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import type { WithWorkingCopy } from '#core/versions/working-copy.ts';

/** What functions of this room work with. */
export type ProposalsApp = WithSources &
  WithDeployLock &
  WithHosts &
  WithLint &
  WithOverlays &
  WithReplays &
  WithSnapshots &
  WithWorkingCopy;

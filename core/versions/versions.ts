import { createSnapshotCache, type WithSnapshots } from './stored-snapshots.ts';
import { createWorkingCopyHolder, type WithWorkingCopy } from './working-copy.ts';

export type WithVersions = WithSnapshots & WithWorkingCopy;

/** The versions that were read last, and the frozen working copy, in memory. */
export const createVersions = (): WithVersions => ({
  snapshot_cache: createSnapshotCache(),
  working_copy: createWorkingCopyHolder(),
});

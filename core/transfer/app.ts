import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithLint } from '#core/definitions/lint/lint-index.ts';
import type { WithProviders } from '#core/identity/providers/metadata.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import type { WithWorkingCopy } from '#core/versions/working-copy.ts';

/** What functions of this room work with. */
export type TransferApp = WithSources & WithLint & WithProviders & WithSnapshots & WithWorkingCopy;

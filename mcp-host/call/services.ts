import type { Pseudonym } from '#core/query/masks.ts';
import type { Samples } from './samples.ts';
import type { RateLimits } from '#mcp-host/limits/rate-limit.ts';
import type { Usage } from '#mcp-host/observe/usage.ts';
import type { ConnectionPools } from '#mcp-host/connections/connection-pools.ts';
import type { Log } from '#core/process/log.ts';
import type { AppViews } from './app-views.ts';
import type { Confirmations } from './confirmation/pending-call.ts';
import type { ResultCache } from './cache.ts';
import type { PageCursors } from './page-cursors.ts';
import type { FilePages } from './files/file-pages.ts';
import type { FileLinks } from './files/file-links.ts';

/** Services of the host that all calls share. */
export interface CallServices {
  readonly sources: ConnectionPools;
  readonly usage: Usage;
  readonly cache: ResultCache;
  readonly limits: RateLimits;
  /** Stores calls for replays. */
  readonly samples: Pick<Samples, 'keep'>;
  readonly confirmations: Confirmations;
  /** Pages that draw results in clients with MCP Apps. */
  readonly app_views: AppViews;
  readonly pages: PageCursors;
  /** Addresses of whole results. */
  readonly files: FileLinks;
  /** Null: the host has no files. */
  readonly file_pages: FilePages | null;
  /** Used by masks that hash. */
  readonly pseudonym: Pseudonym;
  readonly log: Log;
  readonly now: () => number;
}

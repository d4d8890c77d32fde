import { createHash } from 'node:crypto';

/** The page that draws results in clients with MCP Apps, the same for all tools. */
export interface ViewPage {
  /** Contains a hash of the content, because clients cache a page by its URI. */
  readonly uri: string;
  readonly html: string;
}

const PREFIX = 'ui://sluice/view-';

const SUFFIX = '.html';

const HASH_LENGTH = 16;

export function toViewPage(html: string): ViewPage {
  const hash = createHash('sha256').update(html).digest('base64url').replaceAll(/[-_]/g, '').slice(0, HASH_LENGTH);
  return { uri: `${PREFIX}${hash}${SUFFIX}`, html };
}

/** Matches any hash: a client with an old URI gets the current page. */
export const isViewUri = (uri: string): boolean => VIEW_URI.test(uri);

const VIEW_URI = /^ui:\/\/sluice\/view-[\w-]{1,64}\.html$/;

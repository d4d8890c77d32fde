import { type RequestRecord, isForViews } from '#mcp-host/requests/request-record.ts';
import { type Page, createPage } from '#mcp-host/protocol/lists.ts';
import type { Registry } from '#mcp-host/registry/registry.ts';
import { isDrawn, VIEW_META } from '#mcp-host/registry/tool-item.ts';
import { APP_MIME_TYPE } from '#mcp-host/protocol/client-capabilities.ts';
import { isViewUri, type ViewPage } from '#mcp-host/registry/view-page.ts';

/**
 * The page of MCP Apps. It is declared and listed for every client, because the largest clients draw results without declaring
 * it.
 */
export interface AppViews {
  /** The members of `_meta` for a result of a tool, as text, for clients that declare MCP Apps; empty: none. */
  meta(record: RequestRecord, registry: Registry): string;
  /** The members of the result that reads the page; null: the URI is not a page of Sluice. */
  read(uri: string): string | Page | null;
  readonly offered: boolean;
}

const NO_VIEWS: AppViews = { meta: () => '', read: () => null, offered: false };

export function createAppViews(page: ViewPage | null): AppViews {
  if (page === null) return NO_VIEWS;
  const contentsOf = (uri: string): string => {
    const contents = { uri, mimeType: APP_MIME_TYPE, text: page.html, _meta: { ui: { prefersBorder: true } } };
    return `"contents":[${JSON.stringify(contents)}]`;
  };
  const whole = createPage(contentsOf(page.uri));
  return {
    offered: true,
    meta(record, registry) {
      const { method, params } = record.message;
      if (method !== 'tools/call' || typeof params['name'] !== 'string') return '';
      const tool = registry.tools.get(params['name'])?.entity;
      if (tool?.view === undefined || !isDrawn(tool) || !isForViews(record)) return '';
      return `"${VIEW_META}":${JSON.stringify(tool.view)}`;
    },
    read: (uri) => (uri === page.uri ? whole : isViewUri(uri) ? contentsOf(uri) : null),
  };
}

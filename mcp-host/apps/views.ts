import type { RequestRecord } from '#mcp-host/call/request-record.ts';
import { createPage, type Page, renderList, type RenderedList } from '#mcp-host/protocol/lists.ts';
import type { Registry } from '#mcp-host/swap/registry.ts';
import { toolItem } from '#mcp-host/swap/tool-item.ts';
import type { FrozenTool } from '#snapshots/format.ts';
import { APP_MIME_TYPE, isForViews } from './capability.ts';
import { isViewUri, type ViewPage } from './view-page.ts';

/** Of the `_meta` of a result: what its tool says of its view. */
const VIEW = 'sluice/view';

/** What clients with MCP Apps get beside what all get. Without a page nobody gets anything. */
export interface AppViews {
  /** The tools with the address of the page; null: the request gets the list that all get. */
  list(record: RequestRecord, registry: Registry): RenderedList | null;
  /** The members of `_meta` that a result of a tool carries, as text; empty: none. */
  meta(record: RequestRecord, registry: Registry): string;
  /** The members of the result that reads the page; null: the address is none of ours. */
  read(uri: string): string | Page | null;
  /** Whether the page is offered at all. */
  readonly offered: boolean;
}

export const NO_VIEWS: AppViews = { list: () => null, meta: () => '', read: () => null, offered: false };

const STRUCTURED: readonly string[] = ['rows', 'row', 'column', 'value'];

/** Whether the page draws what a tool returns. What a template makes may be text, so its tool has to say so. */
export const isDrawn = ({ return_type, view, two_step, transform_template }: FrozenTool): boolean =>
  view?.kind !== 'none' &&
  STRUCTURED.includes(return_type) &&
  two_step !== true &&
  (transform_template === null || view !== undefined);

export function createAppViews(page: ViewPage | null): AppViews {
  if (page === null) return NO_VIEWS;
  const ui = { ui: { resourceUri: page.uri }, 'ui/resourceUri': page.uri };
  const lists = new WeakMap<Registry, RenderedList>();
  const contentsOf = (uri: string): string => {
    const contents = { uri, mimeType: APP_MIME_TYPE, text: page.html, _meta: { ui: { prefersBorder: true } } };
    return `"contents":[${JSON.stringify(contents)}]`;
  };
  const whole = createPage(contentsOf(page.uri));
  return {
    offered: true,
    list(record, registry) {
      if (!isForViews(record)) return null;
      const known = lists.get(registry);
      if (known !== undefined) return known;
      const items = [...registry.tools.values()].map(({ entity }) => {
        const item = toolItem(entity);
        const own = item['_meta'] as object | undefined;
        return JSON.stringify(isDrawn(entity) ? { ...item, _meta: { ...own, ...ui } } : item);
      });
      const list = renderList('tools/list', items, registry.snapshot_id);
      lists.set(registry, list);
      return list;
    },
    meta(record, registry) {
      const { method, params } = record.message;
      if (method !== 'tools/call' || typeof params['name'] !== 'string') return '';
      const tool = registry.tools.get(params['name'])?.entity;
      if (tool?.view === undefined || !isDrawn(tool) || !isForViews(record)) return '';
      return `"${VIEW}":${JSON.stringify(tool.view)}`;
    },
    read: (uri) => (uri === page.uri ? whole : isViewUri(uri) ? contentsOf(uri) : null),
  };
}

import type { FrozenTool } from '#snapshots/format/format.ts';
import { servedListing } from '#snapshots/format/served-listing.ts';

/** Claude Code cuts longer results unless the tool declares a higher limit, which may be at most the second number. */
const USUAL_CHARACTERS = 50_000;

const MOST_CHARACTERS = 500_000;

/** The member of `_meta` with the view settings of a tool, in its item and in its results. */
export const VIEW_META = 'sluice/view';

const STRUCTURED: readonly string[] = ['rows', 'row', 'column', 'value'];

/** Whether the page draws the results of a tool. A template may produce text, so a tool with one has to set `view`. */
export const isDrawn = ({ return_type, view, two_step, transform_template }: FrozenTool): boolean =>
  view?.kind !== 'none' &&
  STRUCTURED.includes(return_type) &&
  two_step !== true &&
  (transform_template === null || view !== undefined);

/**
 * A tool as `tools/list` sends it.
 * @param view_uri address of the page that draws results; null: there is none.
 */
export function toolItem(tool: FrozenTool, view_uri: string | null): Readonly<Record<string, unknown>> {
  const listing = servedListing(tool);
  const meta = { ...longResultOf(tool), ...viewOf(tool, view_uri) };
  return Object.keys(meta).length === 0 ? listing : { ...listing, _meta: meta };
}

function longResultOf({ max_bytes, return_type }: FrozenTool): object {
  if (max_bytes <= USUAL_CHARACTERS || return_type === 'image' || return_type === 'audio') return {};
  return { 'anthropic/maxResultSizeChars': Math.min(max_bytes, MOST_CHARACTERS) };
}

/** Some clients read only the earlier, flat key. */
function viewOf(tool: FrozenTool, uri: string | null): object {
  if (uri === null || !isDrawn(tool)) return {};
  const { view } = tool;
  return { ui: { resourceUri: uri }, 'ui/resourceUri': uri, ...(view !== undefined && { [VIEW_META]: view }) };
}

import * as v from 'valibot';
import { AppError } from '#core/errors.ts';
import { PRODUCT_VERSION } from '#core/process/version.ts';
import { plain } from '#core/transfer/files/words.ts';
import { listingHash } from '#snapshots/format/definition-list.ts';
import { FIND_TOOLS, FIND_TOOLS_ITEM } from '#snapshots/format/find-tools-item.ts';
import { send } from '../remote.ts';

/** The lists that MCP clients get, with the folder of their definitions in the answer of the host. */
const LISTS = [
  { method: 'tools/list', member: 'tools', folder: 'tools' },
  { method: 'resources/list', member: 'resources', folder: 'resources' },
  { method: 'resources/templates/list', member: 'resourceTemplates', folder: 'resources' },
  { method: 'prompts/list', member: 'prompts', folder: 'prompts' },
] as const;

const MODERN = '2026-07-28';
const META = 'io.modelcontextprotocol/';
/** Far more than any host sends; a host that sends cursors forever is stopped here. */
const MOST_PAGES = 1_000;

const Item = v.looseObject({ name: v.string() });
const Answer = v.object({ result: v.looseObject({ nextCursor: v.optional(v.string()) }) });

export interface LiveLists {
  /** Hashes of the items, by the name of their definition. */
  readonly listings: ReadonlyMap<string, string>;
  /** Items that the host adds: there is no definition for them. */
  readonly added_by_host: readonly string[];
}

/** Reads the lists as an MCP client of the stateless revision does. @param url of the MCP endpoint. */
export async function readLiveLists(url: string, headers: Readonly<Record<string, string>>): Promise<LiveLists> {
  const listings = new Map<string, string>();
  const added_by_host: string[] = [];
  for (const { method, member, folder } of LISTS) {
    let cursor: string | undefined;
    for (let page = 0; page < MOST_PAGES; page++) {
      const result = await request(url, headers, method, cursor);
      const items = v.safeParse(v.array(Item), result[member]);
      if (!items.success) throw new AppError('unavailable', `${url} answered ${method} without ${member}.`);
      for (const item of items.output) {
        const name = `${folder}/${item.name}`;
        if (isAddedByHost(item)) added_by_host.push(name);
        else listings.set(name, listingHash(item));
      }
      cursor = typeof result['nextCursor'] === 'string' ? result['nextCursor'] : undefined;
      if (cursor === undefined) break;
    }
  }
  return { listings, added_by_host };
}

/** The text of a skill is a resource, which depends on what the caller sees. */
const isAddedByHost = ({ uri }: Readonly<Record<string, unknown>>): boolean =>
  typeof uri === 'string' && uri.startsWith('skill://');

async function request(
  url: string,
  headers: Readonly<Record<string, string>>,
  method: string,
  cursor: string | undefined,
): Promise<Readonly<Record<string, unknown>>> {
  const meta = {
    [`${META}protocolVersion`]: MODERN,
    [`${META}clientInfo`]: { name: 'sluice verify', version: PRODUCT_VERSION },
    [`${META}clientCapabilities`]: {},
  };
  const params = { ...(cursor !== undefined && { cursor }), _meta: meta };
  const answer = await send(url, {
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': MODERN,
      'mcp-method': method,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const body: unknown = await answer.json().catch(() => null);
  const read = v.safeParse(Answer, body);
  if (answer.ok && read.success) return read.output.result;
  const fault = v.safeParse(v.object({ error: v.object({ message: v.string() }) }), body);
  const reason = fault.success ? plain(fault.output.error.message) : `status ${answer.status}`;
  throw new AppError('unavailable', `${url} does not answer ${method}: ${reason}`);
}

/** The tool that a host adds for toolsets with `find_tools`. */
const FIND_TOOLS_LISTING = listingHash(JSON.parse(FIND_TOOLS_ITEM) as Record<string, unknown>);

/** Lines that say how the lists differ from the signed definitions. */
export function listFaults({ listings }: LiveLists, signed: Readonly<Record<string, string>>): string[] {
  const names = [...new Set([...Object.keys(signed), ...listings.keys()])].toSorted();
  return names.flatMap((name) => {
    const [listed, expected] = [listings.get(name), signed[name]];
    if (listed === expected) return [];
    if (expected === undefined && listed === FIND_TOOLS_LISTING && name === `tools/${FIND_TOOLS}`) return [];
    if (expected === undefined) return [`+ listed, not signed    ${plain(name)}`];
    return [listed === undefined ? `- signed, not listed    ${plain(name)}` : `~ listed as another     ${plain(name)}`];
  });
}

import { createHash, randomBytes } from 'node:crypto';
import { FILE_PATH } from '#core/edge/mcp-endpoint.ts';
import { createSealing } from '#core/lib/sealing.ts';
import type { FileFormat } from '#core/contract/definitions/pages.ts';
import type { FrozenServer, FrozenToolset } from '#snapshots/format/format.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import { type Holds, holdsOf, ofTool } from '#snapshots/format/toolsets.ts';
import type { Admission } from '#mcp-host/auth/caller.ts';
import type { Passport } from '#mcp-host/auth/scheme.ts';
import type { Members } from '#mcp-host/protocol/messages.ts';
import type { Registry, ToolEntry } from '#mcp-host/registry/registry.ts';
import type { CallContext } from '../context.ts';

/** The address of a whole result, for the answer to one call. */
export interface FileOffer {
  readonly url: string;
  readonly format: FileFormat;
  readonly expires_at: string;
  readonly name: string;
  /** The same as a resource that is read in pages. Null: the format has no pages. */
  readonly resource: string | null;
}

/** Begins the URIs of files that are read in pages. */
export const FILE_SCHEME = 'sluice-file://';

/** @param after rows before the page. */
export const pagedAddress = (sealed: string, after: number): string =>
  `${FILE_SCHEME}${sealed}${after === 0 ? '' : `?after=${after}`}`;

/** Formats of which a part is readable. */
const PAGED: ReadonlySet<FileFormat> = new Set(['csv', 'jsonl']);

/** What the address of a file contains. A download checks all of it again. */
export interface SealedCall extends Admission {
  /** Counts the uses of the address. */
  readonly nonce: string;
  /** Admits the caller on a host that did not see its credential. */
  readonly passport: Passport | null;
  /** The path of the endpoint after `/mcp`. */
  readonly path: string;
  /** Name of the tool. */
  readonly tool: string;
  /** Digest of the deployed definition. */
  readonly definition: string;
  readonly format: FileFormat;
  readonly args: Members;
  /** Milliseconds since 1970. */
  readonly ends_at: number;
}

/** Makes the addresses of whole results. Their key is derived from those that all hosts of an installation share. */
export interface FileLinks {
  /** Null: the tool offers no file to this caller, or the arguments are too long for an address. */
  offer(entry: ToolEntry, args: Members, context: CallContext): FileOffer | null;
  /** Null: it was not sealed here, or it has expired. */
  open(sealed: string): SealedCall | null;
}

export interface FileLinksOptions {
  /** The same as for `createSealing`. */
  readonly keys: readonly string[];
  readonly passport: (admitted: Admission, server: FrozenServer) => Passport | null;
  readonly urlOf: (path: string, origin: string | null) => string;
  readonly now: () => number;
}

/** Longer addresses would be cut by clients and proxies. */
const LONGEST = 6_000;
const NONCE_BYTES = 9;
/** The default of the setting, which is absent then. */
const EXPIRE_MINUTES = 15;

/** A host without downloads, such as one in an isolate. */
export const NO_FILES: FileLinks = { offer: () => null, open: () => null };

export function createFileLinks({ keys, passport, urlOf, now }: FileLinksOptions): FileLinks {
  const sealing = createSealing<SealedCall>(keys, 'mcp-files/1', LONGEST);
  return {
    offer(entry, args, { caller, registry, record }) {
      const format = entry.entity.files;
      const { origin, endpoint } = record.exchange;
      if (format === undefined || origin === undefined || endpoint.candidate !== null || !offersFile(registry, entry))
        return null;
      const ends_at = now() + (registry.server.files_expire_minutes ?? EXPIRE_MINUTES) * 60_000;
      const { name } = entry.entity;
      const { owner, grant } = caller;
      const sealed = sealing.seal({
        nonce: randomBytes(NONCE_BYTES).toString('base64url'),
        owner,
        ...(grant !== undefined && { grant }),
        passport: passport(caller, registry.server),
        path: endpoint.path,
        tool: name,
        definition: definitionOf(entry),
        format,
        args,
        ends_at,
      });
      if (sealed.length > LONGEST) return null;
      const url = urlOf(`${FILE_PATH}${sealed}`, origin());
      const resource = PAGED.has(format) ? pagedAddress(sealed, 0) : null;
      return { url, format, expires_at: new Date(ends_at).toISOString(), name: `${name}.${format}`, resource };
    },
    open(sealed) {
      const call = sealing.open(sealed);
      return call === null || call.ends_at <= now() ? null : call;
    },
  };
}

const rules = new WeakMap<FrozenToolset, Holds>();

/** Whether a caller of this view has the tool through a toolset with files. */
export const offersFile = ({ file_toolsets }: Registry, { entity }: ToolEntry): boolean =>
  file_toolsets.some((toolset) => {
    let holds = rules.get(toolset);
    if (holds === undefined) rules.set(toolset, (holds = holdsOf(toolset)));
    return holds(ofTool(entity));
  });

const digests = new WeakMap<ToolEntry, string>();

/** Changes with everything that decides which rows a call of the tool gives. A deploy of something else does not change it. */
export function definitionOf(entry: ToolEntry): string {
  const known = digests.get(entry);
  if (known !== undefined) return known;
  const { id, statement, parameters, mode, masks = [] } = entry.entity;
  const text = canonical([id, statement, parameters, mode, masks, entry.connection.id, entry.connection.pool_key]);
  const digest = createHash('sha256').update(text).digest('base64url').slice(0, 22);
  digests.set(entry, digest);
  return digest;
}

import type { FrozenToolset, FrozenServer } from '#snapshots/format/format.ts';
import type { Registry, RenderedParts } from './registry.ts';
import { PRODUCT_VERSION } from '#core/process/version.ts';
import { META, MODERN_VERSION } from '#mcp-host/protocol/messages.ts';
import { introductionOf } from './introduction.ts';
import { APP_MIME_TYPE, APPS } from '#mcp-host/protocol/client-capabilities.ts';
import { SKILLS } from './skill.ts';

/** The server's icon in client lists: the sluice gate of the web interface, 48 by 48 pixels. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAADAAAAAwCAMAAABg3Am1AAAAaVBMVEUYMEjY8PBgwNjYwGBgkJAAAABIYEgYMEgYSEgYMEgYMEh4eEgYSGCQqM' +
  'BIeHhIkKhIqMAAMEgweJBIqKgwYHjA2PAYYGCQ2NjA8PCo2PBgwMAwSEgweHhgqKgwkJB42NgYMEhgkKhgqMBDFNpKAAAAI3RSTlP//////wD/' +
  'wP9AgP///////wD//////////////////wD//z5M5ngAAAEmSURBVHja7ZbbcoMgEIZXqnKoiQrWU5om7fs/ZBEEyTa20KtMp/+FDv/yqQsOu1' +
  'Cs4pTCrijlbh6YayvgR4l2AzhEiTtAQKSEBThEiy9AwvyFgIKmALSA6zZih5cDw1OQ2UKQ8THLsiMGkCkg+KJcx3IMIJPeiZ2evU47T7kFyiev' +
  '8h/4ywArvVgUEGE+KtDLdxTrZb8LVDVZNIw5cur7wCtxOn9xphVgwVEgyabaBOvAGczmaEd6wPjN22zvHeua1bH3y9k6sweUHnU6v4mE0g50oa' +
  'G2lJWqzAqOFx9tKrtSBDtoyT9cKi7FfMAO2qNKKqJkFZjjNN84j/Yv0fTDOPm456kFJblkpRXF9jdlN72wp7cOujmJyJwGzcnyEvF9+yNc//MJ' +
  'OCcRBUd3GQ8AAAAASUVORK5CYII=';

const ICON = { src: `data:image/png;base64,${PNG}`, mimeType: 'image/png', sizes: ['48x48'] };

/** How a part of the deployed definitions presents itself to clients. */
export interface Presentation {
  /** The part of its address after `/mcp`. */
  readonly path: string;
  /** Whether all callers of the address see the same. */
  readonly is_same_for_all: boolean;
  /** A toolset of the caller has `find_tools`; absent: the only toolset at the address decides. */
  readonly finds_tools?: boolean;
  /** The toolsets with `files` of the caller; absent: the only toolset at the address, if it has them. */
  readonly file_toolsets?: readonly FrozenToolset[];
  /** The only toolset at the address; absent: it is not the address of a toolset. */
  readonly shown?: FrozenToolset;
}

/** The same definitions, presented at a separate address. */
export const presented = (registry: Registry, part: Presentation): Registry => ({
  ...registry,
  pieces: renderPieces(registry.server, registry.snapshot_version, part),
});

export function renderPieces(
  { server_name, auth_type }: FrozenServer,
  version: number,
  { path, is_same_for_all, shown }: Presentation,
): RenderedParts {
  // Clients cache lists by server name, so each address has a different name.
  const identity = { name: `${server_name}${path}`, version: PRODUCT_VERSION };
  const server_info = JSON.stringify(identity);
  const snapshot = `"${META.snapshot}":${version}`;
  const meta = `"_meta":{"${META.server}":${server_info},${snapshot}}`;
  return {
    server_info,
    server_card: JSON.stringify({ ...identity, title: shown?.title ?? server_name, icons: [ICON] }),
    snapshot,
    modern: `"resultType":"complete",${meta}`,
    input_required: `"resultType":"input_required",${meta}`,
    is_public: auth_type === 'none' && is_same_for_all,
  };
}

/** Methods whose results have a cache lifetime (2026-07-28, Caching). False: the content of resources may change at any time. */
const HOLDS: Readonly<Record<string, boolean>> = {
  'tools/list': true,
  'resources/list': true,
  'resources/templates/list': true,
  'prompts/list': true,
  'server/discover': true,
  'skills/list': true,
  'skills/get': true,
  'resources/read': false,
};

/** Deploys often follow each other closely: for this time after one, lists are not cacheable; later, for a tenth of their age. */
const SETTLING_MS = 10_000;

const LONGEST_MS = 60_000;

/** Lifetimes are rounded down to this step, so that a list is answered with the same bytes for a while. */
const STEP_MS = 1_000;

/** The members with the cache lifetime of a result, with a comma before them; empty for methods without one. */
export function lifetime(method: string, { pieces, side, since }: Registry, now: number): string {
  const holds = HOLDS[method];
  if (holds === undefined) return '';
  const age = now - since;
  const ttl = !holds || age < SETTLING_MS ? 0 : Math.min(Math.floor(age / 10 / STEP_MS) * STEP_MS, LONGEST_MS);
  // While a canary runs, callers of one address see different versions.
  const scope = pieces.is_public && side === null ? 'public' : 'private';
  return `,"ttlMs":${ttl},"cacheScope":"${scope}"`;
}

/** The members of the results of `server/discover` and `initialize`. */
export const discoverResult = (registry: Registry, now: number, has_views: boolean): string =>
  `"resultType":"complete","_meta":{"${META.server}":${registry.pieces.server_card},${registry.pieces.snapshot}}${lifetime('server/discover', registry, now)},"supportedVersions":["${MODERN_VERSION}"],"capabilities":${capabilitiesOf(registry, has_views)}${instructionsOf(registry)}`;

export const initializeResult = (registry: Registry, version: string, has_views: boolean): string =>
  `"protocolVersion":"${version}","capabilities":${capabilitiesOf(registry, has_views)},"serverInfo":${registry.pieces.server_card}${instructionsOf(registry)},"_meta":{${registry.pieces.snapshot}}`;

function instructionsOf(registry: Registry): string {
  const text = registry.instructions ?? introductionOf(registry);
  return text === null ? '' : `,"instructions":${JSON.stringify(text)}`;
}

const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};

function capabilitiesOf({ skill }: Registry, has_views: boolean): string {
  if (skill === null && !has_views) return PLAIN;
  const views = has_views ? { [APPS]: { mimeTypes: [APP_MIME_TYPE] } } : {};
  return JSON.stringify({ ...CAPABILITIES, extensions: { ...views, ...(skill !== null && { [SKILLS]: {} }) } });
}

const PLAIN = JSON.stringify(CAPABILITIES);

import type { Platform } from '#core/platform/platform.ts';
import { FlattenedSign } from 'jose';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { HostEvent } from '#core/contract/deploy/control.ts';
import type { ListManifest, SignedList, SignedListsEvent } from '#core/contract/deploy/signed-lists.ts';
import { createLock } from '#core/store/open.ts';
import { candidateHeads, readCandidate } from '#core/versions/stored-candidates.ts';
import { activeSnapshot, runningCanary } from '#core/versions/deployment.ts';
import { type StoredSnapshot, textsOf, type WithSnapshots } from '#core/versions/stored-snapshots.ts';
import { runEvery } from '#core/platform/run-every.ts';
import { reasonOf } from '#core/process/log.ts';
import type { Leaf } from '#snapshots/format/tree.ts';
import {
  byName,
  definitionLeaf,
  definitionName,
  hexOf,
  isDefinition,
  type ListedDefinition,
  listingHash,
  SIGNATURE_ALGORITHM,
  SIGNATURE_TYPE,
  signedBytes,
} from '#snapshots/format/definition-list.ts';
import type { FrozenPrompt, FrozenResource, FrozenTool, FrozenToolset } from '#snapshots/format/format.ts';
import { merkleRoot } from '#snapshots/format/merkle.ts';
import { servedListing } from '#snapshots/format/served-listing.ts';
import { holdsOf, ofPrompt, ofResource, ofTool, type Selectable } from '#snapshots/format/toolsets.ts';
import { readKeys, rotateDefinitionKeys, type SigningKey } from './keys.ts';

const DAY_MS = 24 * 3_600_000;
/** Signatures are renewed after this time, so that a host never has one that is about to expire. */
const RENEW_MS = DAY_MS;
/** A host that is disconnected for longer serves expired signatures. */
const VALID_MS = 7 * DAY_MS;
const LOOK_MS = 60_000;

interface Definition extends ListedDefinition {
  readonly selectable: Selectable;
  /** Its leaf in the tree that is signed: a deploy computes those of what it changed. */
  readonly leaf: Buffer;
}

/** Signatures of this server, and the facts that they cover. */
export interface WithSigning {
  readonly signing: {
    /** What hosts serve of a snapshot, by key ID, version, checksum and list: that list, and those of toolsets. */
    signed: ReadonlyMap<string, readonly SignedList[]>;
    /** Facts about the definitions of the snapshots that were signed last, by hash. */
    definitions: ReadonlyMap<string, Definition>;
    /** Toolsets, by hash. */
    toolsets: ReadonlyMap<string, FrozenToolset>;
    /** The key that signed last. */
    key: SigningKey | null;
    readonly lock: <T>(work: () => Promise<T>) => Promise<T>;
  };
}

export const createSigning = (): WithSigning => ({
  signing: { signed: new Map(), definitions: new Map(), toolsets: new Map(), key: null, lock: createLock() },
});

type SigningApp = Platform & WithSnapshots & WithSigning;

/**
 * The signed lists of everything that hosts serve, as an event for them. Null: they could not be signed, and hosts serve without.
 * @param next the version that was stored as the live one, and that hosts serve in a moment.
 */
export async function signedListsEvent(app: SigningApp, next: StoredSnapshot | null = null): Promise<HostEvent | null> {
  return app.signing
    .lock(async (): Promise<HostEvent> => ({ event: 'signed', data: await signedLists(app, next) }))
    .catch((error: unknown) => {
      app.log.from('deploy').error('definitions not signed', { reason: reasonOf(error) });
      return null;
    });
}

/** Sends signatures to the hosts of this server. Called before what they are about, so that hosts never serve without. */
export async function publishSigned(app: SigningApp & WithHosts, next: StoredSnapshot | null = null): Promise<void> {
  if (app.hosts.local().size === 0) return;
  const event = await signedListsEvent(app, next);
  if (event !== null) app.hosts.publish(event);
}

/** Rotates the keys and renews signatures when they are due. @returns a function that stops it. */
export function keepSigning(app: SigningApp & WithHosts): () => void {
  let known = '';
  const work = async (): Promise<void> => {
    await rotateDefinitionKeys(app);
    if (app.hosts.local().size === 0) return;
    const event = await signedListsEvent(app);
    const text = JSON.stringify(event);
    if (event === null || text === known) return;
    app.hosts.publish(event);
    known = text;
  };
  return runEvery(app, { every_ms: LOOK_MS, what: 'signing definitions', work, at_once: true });
}

interface Served {
  readonly snapshot: StoredSnapshot;
  /** The name of its list of everything. */
  readonly list: string;
  readonly with_toolsets: boolean;
}

async function signedLists(app: SigningApp, next: StoredSnapshot | null): Promise<SignedListsEvent> {
  const { key, keys } = await signingKeys(app);
  const served = new Map(
    (await servedNow(app, next)).map((one) => [`${key.kid} ${one.snapshot.version} ${one.snapshot.checksum} ${one.list}`, one]),
  );
  const signed = new Map<string, readonly SignedList[]>();
  const facts: Facts = { definitions: new Map(), toolsets: new Map() };
  for (const [name, one] of served) {
    const known = app.signing.signed.get(name);
    signed.set(name, known?.every((list) => isFresh(app, list)) ? known : await signServed(app, key, one, facts));
  }
  Object.assign(app.signing, { signed, key, ...(facts.definitions.size + facts.toolsets.size > 0 && facts) });
  return { keys, lists: [...signed.values()].flat() };
}

const isFresh = (app: Platform, { issued_at }: SignedList): boolean => Date.parse(issued_at) + RENEW_MS > app.clock().getTime();

interface Facts {
  readonly definitions: Map<string, Definition>;
  readonly toolsets: Map<string, FrozenToolset>;
}

/** Signs the list of a snapshot, and those of its toolsets. */
async function signServed(
  app: SigningApp,
  key: SigningKey,
  { snapshot, list, with_toolsets }: Served,
  { definitions, toolsets }: Facts,
): Promise<SignedList[]> {
  await learn(app, snapshot, definitions, toolsets);
  const { leaves } = snapshot.tree;
  const all = leaves.flatMap(({ hash, kind }) => (kind === 'toolset' ? [] : (definitions.get(hash) ?? []))).toSorted(byName);
  const parts = with_toolsets ? leaves.flatMap(({ kind, hash }) => (kind === 'toolset' ? (toolsets.get(hash) ?? []) : [])) : [];
  const signed = [await signOne(app, key, snapshot, list, all)];
  for (const toolset of parts) {
    const holds = holdsOf(toolset);
    const mine = all.filter(({ selectable }) => holds(selectable));
    signed.push(await signOne(app, key, snapshot, toolset.name, mine));
  }
  return signed;
}

/** The key that signs, and those that are published. Creates them for a new installation. */
async function signingKeys(app: SigningApp): Promise<Pick<SignedListsEvent, 'keys'> & { readonly key: SigningKey }> {
  const read = () => readKeys(app, app.signing.key);
  const found = await read();
  if (found.current === null) await rotateDefinitionKeys(app);
  const { current, published } = found.current === null ? await read() : found;
  if (current === null) throw new Error('the signing key is being created by another server');
  return { key: current, keys: published };
}

/** What hosts serve: the live version, the candidates at addresses, and that of a canary at those of the live version. */
async function servedNow(app: SigningApp, next: StoredSnapshot | null): Promise<Served[]> {
  const found: Served[] = [];
  const live = next ?? (await activeSnapshot(app));
  if (live !== null) found.push({ snapshot: live, list: '', with_toolsets: true });
  const candidates = await candidateHeads(app);
  const canary = candidates.length === 0 ? null : await runningCanary(app);
  for (const { id, digest } of candidates) {
    const is_canary = canary?.candidate_id === id;
    const snapshot = digest !== null || is_canary ? await readCandidate(app, id) : null;
    if (snapshot === null) continue;
    if (digest !== null) found.push({ snapshot, list: `candidate/${id}`, with_toolsets: false });
    if (is_canary) found.push({ snapshot, list: '', with_toolsets: true });
  }
  return found;
}

/** Reads the definitions that are not known yet: after a deploy, those that it changed. */
async function learn(
  app: SigningApp,
  { tree }: StoredSnapshot,
  definitions: Map<string, Definition>,
  toolsets: Map<string, FrozenToolset>,
): Promise<void> {
  const missing: Leaf[] = [];
  for (const leaf of tree.leaves) {
    const { hash } = leaf;
    if (leaf.kind === 'toolset') {
      const toolset = toolsets.get(hash) ?? app.signing.toolsets.get(hash);
      if (toolset === undefined) missing.push(leaf);
      else toolsets.set(hash, toolset);
    } else if (isDefinition(leaf)) {
      const definition = definitions.get(hash) ?? app.signing.definitions.get(hash);
      if (definition === undefined) missing.push(leaf);
      else definitions.set(hash, definition);
    }
  }
  if (missing.length === 0) return;
  const texts = await textsOf(app, missing);
  for (const leaf of missing) {
    const frozen: unknown = JSON.parse(texts.get(leaf.hash) ?? '');
    if (leaf.kind === 'toolset') toolsets.set(leaf.hash, frozen as FrozenToolset);
    else definitions.set(leaf.hash, definitionOf(leaf, frozen));
  }
}

function definitionOf(leaf: Leaf, frozen: unknown): Definition {
  const { item, selectable } = factsOf(leaf, frozen);
  const listed: ListedDefinition = { name: definitionName(leaf) ?? '', hash: hexOf(leaf), listing: listingHash(item) };
  return { ...listed, selectable, leaf: definitionLeaf(listed) };
}

function factsOf({ kind }: Leaf, frozen: unknown): { item: Readonly<Record<string, unknown>>; selectable: Selectable } {
  if (kind === 'tool') {
    const tool = frozen as FrozenTool;
    return { item: servedListing(tool), selectable: ofTool(tool) };
  }
  if (kind === 'resource') {
    const resource = frozen as FrozenResource;
    return { item: resource.listing, selectable: ofResource(resource) };
  }
  const prompt = frozen as FrozenPrompt;
  return { item: prompt.listing, selectable: ofPrompt(prompt) };
}

/** @param definitions by name. */
async function signOne(
  app: SigningApp,
  { kid, key }: SigningKey,
  { version, checksum }: StoredSnapshot,
  list: string,
  definitions: readonly Definition[],
): Promise<SignedList> {
  const now = app.clock().getTime();
  const manifest: ListManifest = {
    list,
    snapshot_version: version,
    checksum,
    root: merkleRoot(definitions.map(({ leaf }) => leaf)).toString('hex'),
    size: definitions.length,
    issued_at: new Date(now).toISOString(),
    expires_at: new Date(now + VALID_MS).toISOString(),
  };
  const header = { alg: SIGNATURE_ALGORITHM, kid, typ: SIGNATURE_TYPE };
  const jws = await new FlattenedSign(signedBytes(manifest)).setProtectedHeader(header).sign(key);
  return { ...manifest, kid, signature: `${jws.protected}..${jws.signature}` };
}

import type { Platform } from '#core/platform/platform.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import { pagesOf } from '#core/lib/slices.ts';
import type { Tree } from '#snapshots/format/tree.ts';
import { readCandidate } from './stored-candidates.ts';
import { runningCanary } from './deployment.ts';
import { activeSnapshot } from './deployment.ts';
import { textsOf } from './stored-snapshots.ts';

/** Texts in memory at a time. */
const BATCH_SIZE = 200;

/** Claims that access tokens contain only when a definition reads them. */
type Claim = 'email' | 'name';

/** Whether a definition of the active version or of the running canary reads a claim. */
export async function isRead(app: Platform & WithSnapshots, claim: Claim): Promise<boolean> {
  const [active, canary] = await Promise.all([activeSnapshot(app), runningCanary(app)]);
  const candidate = canary === null ? null : await readCandidate(app, canary.candidate_id);
  for (const snapshot of [active, candidate]) if (snapshot !== null && (await reads(app, claim, snapshot.tree))) return true;
  return false;
}

async function reads(app: Platform & WithSnapshots, claim: Claim, tree: Tree): Promise<boolean> {
  const { claim_reads } = app.snapshot_cache;
  const key = `${claim} ${tree.checksum}`;
  const before = claim_reads.get(key);
  if (before !== undefined) return before;
  let is_read = false;
  for (const page of pagesOf(tree.leaves, BATCH_SIZE)) {
    const texts = await textsOf(app, page);
    is_read = page.some(({ hash }) => isReader(claim, texts.get(hash) ?? ''));
    if (is_read) break;
  }
  claim_reads.set(key, is_read);
  return is_read;
}

interface Texts {
  readonly transform_template?: string | null;
  readonly messages?: readonly { readonly template: string }[];
}

/** A template that names the caller counts as a reader: it may read any of its claims. */
function isReader(claim: Claim, text: string): boolean {
  if ([`"caller.${claim}"`, `"caller.claims.${claim}"`].some((source) => text.includes(source))) return true;
  if (!text.includes('caller')) return false;
  const { transform_template, messages = [] } = JSON.parse(text) as Texts;
  return [transform_template ?? '', ...messages.map(({ template }) => template)].some((one) => /\bcaller\b/.test(one));
}

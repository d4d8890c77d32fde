import type { App } from '#core/app.ts';
import { pagesOf } from '#core/lib/slices.ts';
import type { Tree } from '#snapshots/tree.ts';
import { readCandidate } from './candidates/stored-candidates.ts';
import { runningCanary } from './candidates/stored-canaries.ts';
import { activeSnapshot } from './deployment.ts';
import { textsOf } from './stored-snapshots.ts';

/** Texts that are held at a time. */
const SLICE = 200;

/** Whether something that is served to signed-in people reads their e-mail address: the live version, or the canary beside it. */
export async function emailIsRead(app: App): Promise<boolean> {
  const [active, canary] = await Promise.all([activeSnapshot(app), runningCanary(app)]);
  const beside = canary === null ? null : await readCandidate(app, canary.candidate_id);
  for (const snapshot of [active, beside]) if (snapshot !== null && (await readsEmail(app, snapshot.tree))) return true;
  return false;
}

async function readsEmail(app: App, tree: Tree): Promise<boolean> {
  const { reads_email } = app.snapshot_cache;
  const before = reads_email.get(tree.checksum);
  if (before !== undefined) return before;
  let reads = false;
  for (const page of pagesOf(tree.leaves, SLICE)) {
    const texts = await textsOf(app, page);
    reads = page.some(({ hash }) => isReader(texts.get(hash) ?? ''));
    if (reads) break;
  }
  reads_email.set(tree.checksum, reads);
  return reads;
}

const SOURCES = ['"caller.email"', '"caller.claims.email"'];

interface Texts {
  readonly transform_template?: string | null;
  readonly messages?: readonly { readonly template: string }[];
}

/** Templates may read the whole caller, so one that names it counts. */
function isReader(text: string): boolean {
  if (SOURCES.some((source) => text.includes(source))) return true;
  if (!text.includes('caller')) return false;
  const { transform_template, messages = [] } = JSON.parse(text) as Texts;
  return [transform_template ?? '', ...messages.map(({ template }) => template)].some((one) => /\bcaller\b/.test(one));
}

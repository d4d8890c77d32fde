import { isAdministrator } from '#core/context/roles.ts';
import { authenticationDangers, maskDangers, requireProof } from '#core/context/proof.ts';
import { refuseActivation } from '#core/context/token-limits.ts';
import type { Context } from '#core/context/context.ts';
import { AppError, type FieldError } from '#core/errors.ts';
import type { WithSources } from '#core/sources/source-pool.ts';
import { type StoredSnapshot, textsIn, textsOf, type WithSnapshots } from '#core/versions/stored-snapshots.ts';
import type { WithVersions } from '#core/versions/versions.ts';
import { readWorkingCopy } from '#core/versions/working-copy.ts';
import { leavesOf } from '#snapshots/format/order.ts';
import { differingIn, type Leaf, toContent } from '#snapshots/format/tree.ts';

// A stored version or candidate that protects less than the live one is not served by just anybody.

type Serving = Context<WithSources & WithSnapshots>;
type Configured = Pick<StoredSnapshot, 'tree' | 'server'>;
type Texts = (leaves: readonly Leaf[]) => Promise<ReadonlyMap<string, string>>;

/** Before an earlier version is served: throws if a token may not replace the live one by it, or a person has to prove or propose. */
export async function refuseVersion(context: Serving, active: Configured, version: Configured): Promise<void> {
  const texts: Texts = (leaves) => textsOf(context.app, leaves);
  await refuseToken(context, active, version, texts);
  await requireProof(context, await dangersOf(context, active, version, texts));
}

/**
 * The same for a candidate. What it shares with the working copy is no danger: tokens can deploy that, and each dangerous change of
 * it was proved.
 */
export async function refuseCandidate(context: Context<WithSources & WithVersions>, active: Configured, candidate: Configured) {
  const { app } = context;
  const stored: Texts = (leaves) => textsOf(app, leaves);
  const withCopy = async (check: (copy: Configured, texts: Texts) => Promise<void>) => {
    const { view } = await readWorkingCopy(app);
    await check({ tree: view.frozen().tree, server: view.server }, textsIn(app, view.textOf));
  };
  await refuseToken(context, active, candidate, stored).catch(async (refusal: unknown) => {
    if (!(refusal instanceof AppError)) throw refusal;
    await withCopy((copy, texts) =>
      refuseToken(context, copy, candidate, texts).catch(() => {
        throw refusal;
      }),
    );
  });
  if ((await dangersOf(context, active, candidate, stored)).length === 0) return;
  await withCopy(async (copy, texts) => requireProof(context, await dangersOf(context, copy, candidate, texts)));
}

async function refuseToken(context: Serving, before: Configured, after: Configured, texts: Texts): Promise<void> {
  if (isAdministrator(context.actor)) return;
  await refuseActivation(context, await targetsOf(before, after, texts), await targetsOf(after, before, texts));
}

/** Weaker authentication and fewer masks than before. */
async function dangersOf({ actor }: Serving, before: Configured, after: Configured, texts: Texts): Promise<FieldError[]> {
  // Only what people do needs a proof.
  if (actor?.type !== 'admin') return [];
  const [was, is] = [await targetsOf(before, after, texts), await targetsOf(after, before, texts)];
  const known = new Map([...was.tools, ...was.resources].map((one) => [one.id, one]));
  const unmasked = [...is.tools, ...is.resources].flatMap((one) => maskDangers(known.get(one.id) ?? null, one));
  return [...authenticationDangers(before.server, after.server), ...unmasked];
}

/** The parts of a version that decide who has access, what they see and change, and where secrets are sent. */
async function targetsOf({ tree, server }: Configured, other: Configured, texts: Texts) {
  const { now } = differingIn(other.tree, tree);
  const definitions = now.filter(({ kind }) => kind === 'tool' || kind === 'resource');
  const whole = (['connection', 'toolset'] as const).flatMap((kind) => leavesOf(tree.leaves, kind));
  const leaves = [...whole, ...definitions];
  const read = await texts(leaves);
  const { connections, toolsets, tools, resources } = toContent(leaves, (hash) => read.get(hash));
  return { server, connections, toolsets, tools, resources };
}

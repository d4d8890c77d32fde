import { type ProposalsApp, applyAll } from './overlays.ts';
import type { Input } from '#core/contract/index.ts';
import { subjectOf } from '#core/contract/entities.ts';
import type { Replay } from '#core/contract/deploy/replay.ts';
import { removeCandidate, storeCandidate } from '#core/versions/stored-candidates.ts';
import { countsOf } from '#core/deploy/deploys.ts';
import { exclusively } from '#core/deploy/deploy-locks.ts';
import { replayCallsOn, requireSamples } from '#core/deploy/replay-calls.ts';
import { readWorkingCopy } from '#core/versions/working-copy.ts';
import type { Context, RunOperations } from '#core/context/context.ts';
import { actorOf } from './author.ts';
import { openOverlay } from './overlay.ts';
import { callOf } from './propose.ts';
import { findProposal, moved, operationsOf, toStep } from './rows.ts';

/** The temporary candidate expires after this time, in case the server ends before it is deleted. */
const EXPIRES_MS = 10 * 60_000;

/**
 * Runs recent calls on the working copy with a proposal applied. It is stored as a candidate without an address until the hosts have
 * answered, so that they can fetch it.
 */
export async function replayCallsOnProposal(
  context: Context<ProposalsApp>,
  runner: RunOperations,
  { id, calls }: Input<'proposals.replay'>,
): Promise<Replay> {
  const { app } = context;
  const row = await findProposal(app, id);
  if (row.status !== 'open') throw moved(row);
  await requireSamples(app);
  const steps = (await operationsOf(app, id)).map((operation) => toStep(app, operation));
  const overlay = await openOverlay(app, row);
  const name = app.ids();
  try {
    await applyAll(overlay, runner, steps, { ...callOf(context), actor: await actorOf(app, row.author) });
    const { view } = await readWorkingCopy(overlay.app);
    const { tree, problems } = view.frozen();
    const now = app.clock();
    const head = {
      id: name,
      counts: countsOf(tree),
      note: null,
      allowed: [],
      actor: { type: 'system', id: null, name: 'system' } as const,
      created_at: now.toISOString(),
      expires_at: new Date(now.getTime() + EXPIRES_MS).toISOString(),
      digest: null,
      token_prefix: null,
    };
    await exclusively(app, () => app.store.write((tx) => storeCandidate(app, tx, head, tree, view.textOf)));
    const found = await replayCallsOn(context, name, calls);
    const left_out = problems.map(({ entity_type, name: of, message }) => `${subjectOf(entity_type, of)}: ${message}`);
    return { ...found, against: id, notes: [...left_out, ...found.notes] };
  } finally {
    await overlay.close();
    await exclusively(app, () => app.store.write((tx) => removeCandidate(app, tx, name)));
  }
}

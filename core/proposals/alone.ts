import type * as v from 'valibot';
import { type Input, operations } from '#core/contract/index.ts';
import type { SnapshotChange } from '#core/contract/deploy/deploy.ts';
import { REDACTED } from '#core/contract/history.ts';
import { marksOf } from '#core/contract/marks.ts';
import { isAlone } from '#core/contract/proposal-ways.ts';
import type { Context, RequestContext, RunOperations } from '#core/context/context.ts';
import { changesBetween } from '#core/deploy/pending.ts';
import type { FieldError } from '#core/errors.ts';
import { activeSnapshot, runningCanary } from '#core/versions/deployment.ts';
import { snapshotNamed } from '#core/versions/stored-candidates.ts';
import { textsOf } from '#core/versions/stored-snapshots.ts';
import { createIds, proposalRunOf, type ProposedOperation } from './overlay.ts';
import { cannotApply, type ProposalsApp } from './overlays.ts';
import type { ProposalRow } from './rows.ts';

// Proposals of one operation that changes people, sign-ins or the served version, so that no copy of the configuration can show it.

/** The operation of a proposal that stands alone; null for changes of the configuration. */
export const aloneOf = (steps: readonly ProposedOperation[]): ProposedOperation | null =>
  steps.find(({ operation }) => isAlone(operation)) ?? null;

/** What it does and every field that it sets, because reviewers see nothing else of it. */
export function summaryAlone({ operation, input }: ProposedOperation, dangers: readonly FieldError[]): string {
  const { input: schema } = operations[operation];
  const entries: v.ObjectEntries = 'entries' in schema ? schema.entries : {};
  const sent = Object.entries(input).flatMap(([name, value]) => {
    if (name === 'id' || name === 'version' || value === undefined) return [];
    const field = entries[name];
    const is_secret = field !== undefined && marksOf(field)?.secret === true && value !== null;
    return [`${name} ${is_secret ? REDACTED : JSON.stringify(value)}`];
  });
  const what = dangers.map(({ message }) => message).join(' ');
  return operation === 'snapshots.activate' || sent.length === 0 ? what : `${what} Sets ${sent.join(', ')}.`;
}

/** What callers gain and lose when it serves an earlier version or a candidate; nothing for other operations. */
export async function changesAlone({ app }: Context<ProposalsApp>, step: ProposedOperation): Promise<SnapshotChange[]> {
  const name = await versionOf(app, step);
  const [active, served] = [await activeSnapshot(app), name === null ? null : await snapshotNamed(app, name)];
  if (active === null || served === null) return [];
  return changesBetween(active.tree, served.tree, (leaves) => textsOf(app, leaves));
}

async function versionOf(app: ProposalsApp, { operation, input }: ProposedOperation): Promise<string | null> {
  if (operation === 'snapshots.activate') return `v${(input as Input<'snapshots.activate'>).version}`;
  if (operation === 'deploy.run') return (input as Input<'deploy.run'>).candidate ?? null;
  return operation === 'deploy.promote' ? ((await runningCanary(app))?.candidate_id ?? null) : null;
}

/**
 * Runs it with the rights of the approver, before the proposal is closed: if it fails, the proposal stays open. Two approvals at
 * once do it twice, which these operations allow or refuse.
 */
export async function approveAlone(
  app: ProposalsApp,
  runner: RunOperations,
  row: ProposalRow,
  { operation, input }: ProposedOperation,
  { proposal: _, ...call }: RequestContext,
): Promise<void> {
  const proposal_run = proposalRunOf(row, createIds(row), false);
  await runner.run(app, operation, input as never, { ...call, proposal_run }).catch((error: unknown) => {
    throw cannotApply(error, 1);
  });
}

import type { Change } from '#core/contract/deploy/deploy.ts';
import { AppError, type ErrorCode } from '#core/errors.ts';
import type { Context } from '#core/run.ts';
import type { FrozenServer } from '#snapshots/format.ts';
import type { Problem } from '#snapshots/freeze.ts';
import type { Leaf, Tree } from '#snapshots/tree.ts';
import type { StoredSnapshot } from '../stored-snapshots.ts';

/** What may be served next: the working copy, or a stored version that is restored. */
export interface Candidate {
  readonly tree: Tree;
  readonly server: FrozenServer;
  /** Null for the working copy. */
  readonly version: number | null;
  /** What was found while the working copy was frozen. */
  readonly problems: readonly Problem[];
  readonly warnings: readonly string[];
  /** The canonical texts of some leaves, by hash. */
  readonly texts: (leaves: readonly Leaf[]) => Promise<ReadonlyMap<string, string>>;
  readonly changes: () => Promise<readonly Change[]>;
}

/** A warning, or with `refusal` a reason why the candidate is not served. */
export interface Finding {
  readonly message: string;
  readonly refusal?: ErrorCode;
  /** Place that caused it, such as `tool.search`. */
  readonly field?: string;
}

/** One check that a candidate passes before it is served. Deploy, dry run and restoring a version run the same list. */
export interface DeployGate {
  readonly name: string;
  /** It asks something of the hosts: left out of a dry run. */
  readonly acts?: true;
  run(context: Context, candidate: Candidate, active: StoredSnapshot | null): Promise<readonly Finding[]>;
}

/** @returns the warnings of all gates. Rejects with everything that the first refusing gate found. */
export async function runGates(
  gates: readonly DeployGate[],
  context: Context,
  candidate: Candidate,
  active: StoredSnapshot | null,
): Promise<string[]> {
  const warnings = new Set<string>();
  for (const gate of gates) {
    const found = await gate.run(context, candidate, active);
    const [first, ...more] = found.filter(({ refusal }) => refusal !== undefined);
    if (first?.refusal !== undefined) throw refusalOf(first.refusal, [first, ...more]);
    for (const { message } of found) warnings.add(message);
  }
  return [...warnings];
}

function refusalOf(code: ErrorCode, found: readonly Finding[]): AppError {
  const detail = found.map(({ message }) => message).join(' ');
  const errors = found.flatMap(({ field, message }) => (field === undefined ? [] : [{ field, message }]));
  return new AppError(code, detail, { errors });
}

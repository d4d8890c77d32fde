import type { DeployApp } from '#core/deploy/app.ts';
import type { Drifted } from '#core/contract/deploy/drift.ts';
import type { SnapshotChange } from '#core/contract/deploy/deploy.ts';
import { DEPLOY_GATES, type GateName } from '#core/contract/settings/deploy-gates.ts';
import { readSettings } from '#core/settings/settings.ts';
import { AppError, type ErrorCode, type FieldError } from '#core/errors.ts';
import type { Actor, Context } from '#core/context/context.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import type { Problem } from '#snapshots/freeze/freeze.ts';
import type { Leaf, Tree } from '#snapshots/format/tree.ts';
import type { StoredSnapshot } from '#core/versions/stored-snapshots.ts';

/** What may be served next: the working copy, or a stored version that is restored. */
export interface GateSubject {
  readonly tree: Tree;
  readonly server: FrozenServer;
  /** Null for the working copy. */
  readonly version: number | null;
  /** It is what a proposal would make of the working copy, and nobody approved it. `writes`: its tests that write are run all the same. */
  readonly proposed?: { readonly writes: boolean };
  /** What was found while the working copy was frozen. */
  readonly problems: readonly Problem[];
  readonly warnings: readonly string[];
  /** The canonical texts of some leaves, by hash. */
  readonly texts: (leaves: readonly Leaf[]) => Promise<ReadonlyMap<string, string>>;
  /** What changes, a list after another. */
  readonly changes: () => AsyncIterable<readonly SnapshotChange[]> | Iterable<readonly SnapshotChange[]>;
  /** Definitions whose tables have changed since they were saved or frozen. */
  readonly drifted: () => Promise<readonly Pick<Drifted, 'kind' | 'name' | 'differences'>[]>;
}

/** What a gate says of a candidate. Where an administrator chose that the gate blocks, its findings do. */
export interface Finding {
  readonly message: string;
  /** The candidate is not served, whatever the mode of the gate. */
  readonly refusal?: ErrorCode;
  /** A warning, whatever the mode of the gate. */
  readonly harmless?: true;
  /** Place that caused it, such as `tool.search`. */
  readonly field?: string;
}

/** One check that a candidate passes before it is served. Deploy, dry run and restoring a version run the same list. */
export interface DeployGate {
  readonly name: string;
  /** It asks something of the hosts: left out of a dry run. */
  readonly has_effects?: true;
  run(context: Context<DeployApp>, candidate: GateSubject, active: StoredSnapshot | null): Promise<readonly Finding[]>;
}

export interface GateResult {
  readonly warnings: string[];
  /** Blocking gates with findings that were passed knowingly. */
  readonly allowed: readonly GateName[];
}

/** Passed gates as history names them; nothing when there are none. */
export const allowedBy = (allowed: readonly GateName[]): { allowed?: readonly GateName[] } =>
  allowed.length === 0 ? {} : { allowed };

/** Several gates ask for the same. */
export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let known: Promise<T> | undefined;
  return () => (known ??= work());
}

const adjustable = (name: string): GateName | null => (Object.hasOwn(DEPLOY_GATES, name) ? (name as GateName) : null);

/**
 * Rejects with everything that the first refusing gate found, then with everything that blocking gates found.
 * @param allow blocking gates whose findings are passed as warnings.
 */
export async function runGates(
  gates: readonly DeployGate[],
  context: Context<DeployApp>,
  candidate: GateSubject,
  active: StoredSnapshot | null,
  allow: readonly GateName[],
): Promise<GateResult> {
  refuseAllow(context.actor, allow);
  const { deploy_gates } = (await readSettings(context.app)).settings;
  const warnings = new Set<string>();
  const allowed: GateName[] = [];
  const blocked = new Map<GateName, readonly Finding[]>();
  for (const gate of gates) {
    const name = adjustable(gate.name);
    const mode = name === null ? 'warn' : deploy_gates[name];
    if (mode === 'off') continue;
    const found = await gate.run(context, candidate, active);
    const [first, ...more] = found.filter(({ refusal }) => refusal !== undefined);
    if (first?.refusal !== undefined) throw refusalOf(first.refusal, [first, ...more]);
    const blocking = mode === 'block' ? found.filter(({ harmless }) => harmless !== true) : [];
    if (name !== null && blocking.length > 0) {
      if (!allow.includes(name)) blocked.set(name, blocking);
      else allowed.push(name);
    }
    for (const { message } of found) warnings.add(message);
  }
  if (blocked.size > 0) throw blockedBy(blocked);
  return { warnings: [...warnings], allowed };
}

/** Some gates only a person may pass knowingly. */
function refuseAllow(actor: Actor | null, allow: readonly GateName[]): void {
  const closed = allow.filter((name) => DEPLOY_GATES[name].people_only === true);
  if (closed.length === 0 || actor?.type === 'admin' || actor?.type === 'system') return;
  const message = `Only a signed-in person can deploy past the gate ${closed.join(', ')}, not a token.`;
  throw new AppError('admin_only', message, { errors: [{ field: 'allow', message }] });
}

/** Sentences in the detail; all of them are in `errors`. */
const MOST_SENTENCES = 5;
const MOST_ERRORS = 200;

/** What is kept of a refusal, for everyone to read: what a test found may repeat a row that only who ran it may see. */
export function keptDetail({ detail, errors }: AppError): string {
  const tested = errors.filter(({ gate }) => gate === 'tests');
  if (tested.length === 0) return detail;
  const named = [...new Set(tested.map(({ field }) => field))].slice(0, MOST_SENTENCES).join(', ');
  const others = errors.filter(({ gate }) => gate !== 'tests').slice(0, MOST_SENTENCES);
  return [`Blocked by failed tests of ${named}. Run them to see why.`, ...others.map(({ message }) => message)].join(' ');
}

function blockedBy(blocked: ReadonlyMap<GateName, readonly Finding[]>): AppError {
  const names = [...blocked.keys()];
  const found = [...blocked.values()].flat();
  const more = found.length - MOST_SENTENCES;
  const detail = [
    `Blocked by the ${names.length === 1 ? 'gate' : 'gates'} ${names.join(', ')}.`,
    ...found.slice(0, MOST_SENTENCES).map(({ message }) => message),
    ...(more > 0 ? [`And ${more} more.`] : []),
  ].join(' ');
  const errors = names.flatMap((gate) =>
    (blocked.get(gate) ?? []).map(({ field, message }): FieldError => ({ field: field ?? gate, message, gate })),
  );
  return new AppError('gate_failed', detail, { errors: errors.slice(0, MOST_ERRORS) });
}

function refusalOf(code: ErrorCode, found: readonly Finding[]): AppError {
  const detail = found.map(({ message }) => message).join(' ');
  const errors = found.flatMap(({ field, message }) => (field === undefined ? [] : [{ field, message }]));
  return new AppError(code, detail, { errors });
}

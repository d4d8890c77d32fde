import type { DeployApp } from '#core/deploy/app.ts';
import type { Drifted } from '#core/contract/deploy/drift.ts';
import type { GateFinding, SnapshotChange } from '#core/contract/deploy/deploy.ts';
import { DEPLOY_GATES, type GateName } from '#core/contract/settings/deploy-gates.ts';
import { readSettings, type Settings } from '#core/settings/settings.ts';
import { AppError, type ErrorCode, type FieldError } from '#core/errors.ts';
import type { Actor, Context } from '#core/context/context.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import type { Problem } from '#snapshots/freeze/freeze.ts';
import type { Leaf, Tree } from '#snapshots/format/tree.ts';
import type { StoredSnapshot } from '#core/versions/stored-snapshots.ts';

/** The subject of the gates: the working copy, a candidate, or a stored version that is restored. */
export interface GateSubject {
  readonly tree: Tree;
  readonly server: FrozenServer;
  /** Null for the working copy. */
  readonly version: number | null;
  /** The settings, if they were read with the subject. */
  readonly settings?: Settings;
  /** Set when a proposal that is not approved yet changed the working copy. `writes`: whether its writing tests are run. */
  readonly proposed?: { readonly writes: boolean };
  /** Problems that were found while the working copy was frozen. */
  readonly problems: readonly Problem[];
  readonly warnings: readonly string[];
  /** The canonical texts of some leaves, by hash. */
  readonly texts: (leaves: readonly Leaf[]) => Promise<ReadonlyMap<string, string>>;
  /** The differences to the active version, page by page. */
  readonly changes: () => AsyncIterable<readonly SnapshotChange[]> | Iterable<readonly SnapshotChange[]>;
  /** Definitions whose tables have changed since they were saved or frozen. */
  readonly drifted: () => Promise<readonly Pick<Drifted, 'kind' | 'name' | 'differences'>[]>;
}

/** A finding of a gate. It blocks when an administrator set the gate to block. */
export interface Finding {
  readonly message: string;
  /** The deploy is refused with this code in any mode of the gate. */
  readonly refusal?: ErrorCode;
  /** Only a warning in any mode of the gate. */
  readonly harmless?: true;
  /** The cause, such as `tool.search`. */
  readonly field?: string;
  /** The lint rule. */
  readonly rule?: string;
}

/** One check before something is served. Deploying, dry runs and restoring a version run the same list. */
export interface DeployGate {
  readonly name: string;
  /** Looks at the installation, such as its people and tokens, which a proposal's copy of the configuration does not have. */
  readonly of_installation?: true;
  /** Sends requests to hosts, so it is left out of a dry run. */
  readonly has_effects?: true;
  /** @param settings as they were when the subject was read, or when the first gate began. */
  run(
    context: Context<DeployApp>,
    subject: GateSubject,
    active: StoredSnapshot | null,
    settings: Settings,
  ): Promise<readonly Finding[]>;
}

export interface GateResult {
  readonly warnings: string[];
  /** The same messages, each with its gate and its definition. */
  readonly findings: readonly GateFinding[];
  /** Blocking gates with findings that the request allows. */
  readonly allowed: readonly GateName[];
}

/** Allowed gates as history records them; omitted when there are none. */
export const allowedBy = (allowed: readonly GateName[]): { allowed?: readonly GateName[] } =>
  allowed.length === 0 ? {} : { allowed };

/** Runs work on the first call only, because several gates need its result. */
export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let known: Promise<T> | undefined;
  return () => (known ??= work());
}

const adjustable = (name: string): GateName | null => (Object.hasOwn(DEPLOY_GATES, name) ? (name as GateName) : null);

/**
 * Rejects with all findings of the first gate that refuses, otherwise with all findings of blocking gates.
 * @param allow blocking gates whose findings become warnings.
 */
export async function runGates(
  gates: readonly DeployGate[],
  context: Context<DeployApp>,
  subject: GateSubject,
  active: StoredSnapshot | null,
  allow: readonly GateName[],
): Promise<GateResult> {
  refuseAllow(context.actor, allow);
  const { settings } = subject.settings === undefined ? await readSettings(context.app) : { settings: subject.settings };
  const { deploy_gates } = settings;
  const warnings = new Map<string, GateFinding>();
  const allowed: GateName[] = [];
  const blocked = new Map<GateName, readonly Finding[]>();
  for (const gate of gates) {
    const name = adjustable(gate.name);
    const mode = name === null ? 'warn' : deploy_gates[name];
    if (mode === 'off') continue;
    const found = await gate.run(context, subject, active, settings);
    const [first, ...more] = found.filter(({ refusal }) => refusal !== undefined);
    if (first?.refusal !== undefined) throw refusalOf(first.refusal, [first, ...more]);
    const blocking = mode === 'block' ? found.filter(({ harmless }) => harmless !== true) : [];
    if (name !== null && blocking.length > 0) {
      if (!allow.includes(name)) blocked.set(name, blocking);
      else allowed.push(name);
    }
    for (const { message, field = null, rule = null } of found)
      if (!warnings.has(message)) warnings.set(message, { gate: gate.name, rule, field, message });
  }
  if (blocked.size > 0) throw blockedBy(blocked);
  return { warnings: [...warnings.keys()], findings: [...warnings.values()], allowed };
}

/** Throws when a token allows a gate that only a person may allow. */
function refuseAllow(actor: Actor | null, allow: readonly GateName[]): void {
  const closed = allow.filter((name) => DEPLOY_GATES[name].people_only === true);
  if (closed.length === 0 || actor?.type === 'admin' || actor?.type === 'system') return;
  const message = `Only a signed-in person can deploy past the gate ${closed.join(', ')}, not a token.`;
  throw new AppError('admin_only', message, { errors: [{ field: 'allow', message }] });
}

/** Sentences in the detail. `errors` has all of them, up to `MAX_ERRORS`. */
const MAX_SENTENCES = 5;
const MAX_ERRORS = 200;

/** The stored text of a refusal, which everyone can read. Without failures of tests, which may quote rows that only their caller sees. */
export function storedDetail({ detail, errors }: AppError): string {
  const tested = errors.filter(({ gate }) => gate === 'tests');
  if (tested.length === 0) return detail;
  const named = [...new Set(tested.map(({ field }) => field))].slice(0, MAX_SENTENCES).join(', ');
  const others = errors.filter(({ gate }) => gate !== 'tests').slice(0, MAX_SENTENCES);
  return [`Blocked by failed tests of ${named}. Run them to see why.`, ...others.map(({ message }) => message)].join(' ');
}

function blockedBy(blocked: ReadonlyMap<GateName, readonly Finding[]>): AppError {
  const names = [...blocked.keys()];
  const found = [...blocked.values()].flat();
  const more = found.length - MAX_SENTENCES;
  const detail = [
    `Blocked by the ${names.length === 1 ? 'gate' : 'gates'} ${names.join(', ')}.`,
    ...found.slice(0, MAX_SENTENCES).map(({ message }) => message),
    ...(more > 0 ? [`And ${more} more.`] : []),
  ].join(' ');
  const errors = names.flatMap((gate) =>
    (blocked.get(gate) ?? []).map(({ field, message, rule }): FieldError => ({
      field: field ?? gate,
      message,
      gate,
      ...(rule !== undefined && { rule }),
    })),
  );
  return new AppError('gate_failed', detail, { errors: errors.slice(0, MAX_ERRORS) });
}

function refusalOf(code: ErrorCode, found: readonly Finding[]): AppError {
  const detail = found.map(({ message }) => message).join(' ');
  const errors = found.flatMap(({ field, message }) => (field === undefined ? [] : [{ field, message }]));
  return new AppError(code, detail, { errors });
}

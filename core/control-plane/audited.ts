import { countMinute } from '#core/cluster/kv.ts';
import type { OperationName } from '#core/contract/index.ts';
import type { Operation } from '#core/contract/operation.ts';
import type { RequestContext } from '#core/context/context.ts';
import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { AppError, type ErrorCode } from '#core/errors.ts';
import { afterCommit } from '#core/platform/after-commit.ts';
import { auditOf, enterAudit } from '#core/records/audit-log.ts';

type Members = Readonly<Record<string, unknown>>;

const REFUSED: ReadonlySet<ErrorCode> = new Set([
  'forbidden',
  'admin_only',
  'role_required',
  'proof_required',
  'approval_required',
  'insufficient_scope',
]);
/** Refusals of one caller that are entered each minute. */
const MOST_A_MINUTE = 30;

/** Enters an operation that no history entry records, such as an export. */
export async function enterOperation(
  app: ControlPlane,
  name: OperationName,
  { audited }: Operation,
  input: Members,
  output: unknown,
  call: RequestContext,
): Promise<void> {
  if (audited === undefined) return;
  const detail = { operation: name, ...named(input), ...(audited === 'call' ? runDetail(input, output) : {}) };
  const draft = auditOf({ ...call, app }, { kind: audited, outcome: 'ok', detail });
  await afterCommit(app, 'writing the audit log', () => app.store.write((tx) => enterAudit(app, tx, [draft])));
}

/** Enters that an operation was refused to a known caller, and throws the refusal. */
export async function enterRefusal(app: ControlPlane, name: OperationName, call: RequestContext, error: unknown): Promise<never> {
  if (error instanceof AppError && REFUSED.has(error.code) && call.actor !== null) {
    const { count } = await countMinute(app, `audit:refused:${call.actor.type}:${call.actor.id ?? call.actor.name}`);
    if (count <= MOST_A_MINUTE) {
      const detail = { operation: name, code: error.code };
      const draft = auditOf({ ...call, app }, { kind: 'refusal', outcome: 'refused', detail });
      await afterCommit(app, 'writing the audit log', () => app.store.write((tx) => enterAudit(app, tx, [draft])));
    }
  }
  throw error;
}

const NAMED = ['id', 'connection_id', 'version', 'snapshot', 'toolset', 'candidate', 'format'] as const;

/** What the operation was about, by id or number. Everything else in an input may hold values. */
const named = (input: Members): Members =>
  Object.fromEntries(
    NAMED.filter((name) => ['string', 'number'].includes(typeof input[name])).map((name) => [name, input[name]]),
  );

/** A statement that was run in the interface: how many rows its author saw, and which columns without a mask. */
function runDetail(input: Members, output: unknown): Members {
  const { row_count } = output as { readonly row_count?: unknown };
  if (typeof row_count !== 'number') return {};
  const masks = (input['masks'] ?? []) as readonly { readonly column: string; readonly unless_groups: readonly string[] }[];
  const caller = input['caller'] as { readonly groups?: readonly string[] } | null | undefined;
  const lifted = masks.filter(({ unless_groups }) => unless_groups.some((group) => caller?.groups?.includes(group)));
  const unmasked = masks.length === 0 ? ['*'] : lifted.map(({ column }) => column.toLowerCase());
  return { rows: row_count, ...(unmasked.length > 0 && { unmasked }) };
}

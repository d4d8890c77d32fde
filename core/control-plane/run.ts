import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { type OperationName, operations, type Output, type RawInput, type Input } from '#core/contract/index.ts';
import { type Operation, entryNames, readOnlyFields } from '#core/contract/operation.ts';
import { announce } from '#core/platform/announcements.ts';
import { isForProposal, propose } from '#core/proposals/propose.ts';
import type { RequestContext, Context } from '#core/context/context.ts';
import { authorise } from '#core/context/authorise.ts';
import * as v from 'valibot';
import { AppError } from '#core/errors.ts';
import { isAdministrator } from '#core/context/roles.ts';
import { enterOperation, enterRefusal } from './audited.ts';
import { hideClaims } from '#core/records/history-entry.ts';
import { resolveNames } from '#core/records/names-to-ids.ts';
import { notedAs, recordBlocked } from '#core/records/blocked.ts';
import { StaleVersion, withAuthor } from '#core/records/versioned.ts';
import { withFindings } from '#core/definitions/lint/findings-of-writes.ts';
import { handlers } from './handlers.ts';
import { pathVariables } from '#core/contract/paths.ts';
import { isPlainText, refuseHidden, refuseUnkeepable, toInvalid } from '#core/process/issues.ts';
import { readValue } from '#core/process/read-value.ts';

/**
 * Authorise → parse → handler (which guards what it writes) → findings for agents → strip and hide. A write of a token that
 * proposes is stored as a proposal and changes no configuration.
 */
export async function run<N extends OperationName>(
  app: ControlPlane,
  name: N,
  input: RawInput<N>,
  call: RequestContext,
): Promise<Output<N>> {
  await authoriseCall(app, name, call);
  return runAuthorised(app, name, input, call);
}

/** Throws if the actor is not allowed to call the operation, and enters that into the audit log. */
export async function authoriseCall(app: ControlPlane, name: OperationName, call: RequestContext): Promise<void> {
  try {
    authorise(operations[name], call.actor);
  } catch (error) {
    await enterRefusal(app, name, call, error);
  }
}

/** For a route, which has authorised the caller before it read the body. */
export async function runAuthorised<N extends OperationName>(
  app: ControlPlane,
  name: N,
  input: RawInput<N>,
  call: RequestContext,
): Promise<Output<N>> {
  const definition: Operation = operations[name];
  const parsed_input = parseInput(definition, input);
  const context: Context<ControlPlane> = { ...call, app, operations: { run, perform } };
  const is_proposal = isForProposal(context, definition);
  const work = is_proposal
    ? (propose(context, name, definition, parsed_input) as Promise<Output<N>>)
    : perform(app, name, parsed_input, call);
  const output = await work.catch((error: unknown) => enterRefusal(app, name, call, error));
  if (!is_proposal) await enterOperation(app, name, definition, parsed_input, output, call);
  if (definition.method !== 'GET' && definition.access !== 'read') announce(app, is_proposal ? 'proposals.approve' : name);
  return output;
}

async function perform<N extends OperationName>(
  app: ControlPlane,
  name: N,
  parsed_input: Readonly<Record<string, unknown>>,
  call: RequestContext,
): Promise<Output<N>> {
  const definition: Operation = operations[name];
  const parsed = (call.by_name ? await resolveNames(app, name, parsed_input) : parsed_input) as Input<N>;
  const context: Context<ControlPlane> = { ...call, app, operations: { run, perform } };
  try {
    const answer = await withFindings(app, call, name, await handlers[name](context, parsed));
    const output = v.parse(definition.output, answer) as Output<N>;
    return isAdministrator(call.actor) ? output : hideClaims(output);
  } catch (error) {
    if (error instanceof StaleVersion) throw await withAuthor(app, error);
    if (error instanceof AppError) await recordBlocked(context, notedAs(name), parsed, error);
    throw error;
  }
}

export function parseInput(definition: Operation, input: Record<string, unknown>): Record<string, unknown> {
  const allowed = entryNames(definition.input);
  for (const name of pathVariables(definition.path)) {
    if (typeof input[name] === 'string' && !isPlainText(input[name]))
      throw new AppError('not_found', 'There is nothing at this address.');
  }
  refuseUnkeepable(input);
  const dropped = readOnlyFields(definition);
  const fields = Object.fromEntries(Object.entries(input).filter(([name]) => !dropped.includes(name)));
  const result = readValue(definition.input, fields);
  if (!result.success) throw toInvalid(result.issues, allowed);
  // Records with any name can be deleted.
  if (definition.method !== 'GET' && definition.method !== 'DELETE') refuseHidden(result.output);
  return result.output;
}

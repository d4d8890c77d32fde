import type { Parameter } from '#core/contract/definitions/parameters.ts';
import { AppError } from '#core/errors.ts';
import { depthFault } from '#core/query/argument-values.ts';
import { inputSchema, isSent, mustBeGiven } from '#core/query/arguments.ts';
import { isMembers, type Members } from '#mcp-host/protocol/messages.ts';
import {
  type PendingCall,
  type Confirmations,
  InputRequired,
  type PersonReply,
  replyIn,
  sealQuestion,
  tooFast,
} from './pending-call.ts';
import { askSession } from './ask-session.ts';
import { declaredIn, showsForms } from '#mcp-host/protocol/client-capabilities.ts';
import { plain, titleOf } from './question.ts';

/** The name of the question in `inputRequests`. */
const QUESTION = 'arguments';
/** What is filled in goes sealed through the client when the tool asks again before it writes. */
const MOST_BYTES = 4_096;
/** What forms can show (MCP, Elicitation): no lists, no objects. */
const FORMS: ReadonlySet<Parameter['type']> = new Set(['string', 'integer', 'number', 'boolean', 'date', 'datetime', 'uuid']);
const CONSTRAINTS = ['enum', 'minimum', 'maximum', 'minLength', 'maxLength'] as const;
/** Formats that forms know. */
const FORMATS: Partial<Readonly<Record<Parameter['type'], string>>> = { date: 'date', datetime: 'date-time' };

interface Filled<V> {
  readonly call: PendingCall;
  readonly values: V;
}

/**
 * Checks the arguments of a call and has a person fill in those that are missing, when nothing else is wrong with them and the client
 * shows forms. What was filled in is checked like any argument.
 */
export async function fillMissing<V>(
  call: PendingCall,
  confirmations: Confirmations,
  check: (args: Members) => V | Promise<V>,
): Promise<Filled<V> | InputRequired> {
  try {
    return { call, values: await check(call.args) };
  } catch (error) {
    const missing = askable(call, error);
    if (missing === null || !(error instanceof AppError)) throw error;
    const replied = await ask(call, missing, confirmations, error);
    if (replied instanceof InputRequired) return replied;
    const given = filledIn(replied, missing, call, error);
    const filled = { ...call, args: { ...call.args, ...given }, given: { ...call.given, ...given }, brought: null };
    // Whoever filled in a part is asked for the rest: every round asks for less.
    if (Object.keys(given).length > 0) return fillMissing(filled, confirmations, check);
    return { call: filled, values: await check(filled.args) };
  }
}

/** What a form can ask for; null: something else is wrong, or cannot be asked for. */
function askable({ tool, args }: PendingCall, error: unknown): readonly Parameter[] | null {
  if (!(error instanceof AppError) || error.code !== 'invalid' || error.errors.length === 0) return null;
  const missing = tool.parameters.filter(
    (parameter) =>
      isSent(parameter) && mustBeGiven(parameter) && (!Object.hasOwn(args, parameter.name) || args[parameter.name] === null),
  );
  const names = new Set(missing.map(({ name }) => name));
  const only_missing = error.errors.every(({ field }) => names.has(field));
  return only_missing && missing.every(({ type }) => FORMS.has(type)) ? missing : null;
}

/** Throws the refusal of the call where nobody can be asked. */
async function ask(
  call: PendingCall,
  missing: readonly Parameter[],
  confirmations: Confirmations,
  refusal: AppError,
): Promise<PersonReply | InputRequired> {
  const { brought, context } = call;
  const { record } = context;
  const { session, protocol } = record;
  if (brought !== null && brought.asked.changes === null && brought.asked.snapshot === context.registry.checksum) {
    const replied = await replyIn(brought, QUESTION, context, confirmations);
    if (replied !== null) return replied;
  }
  if (protocol.modern && showsForms(declaredIn(record.message.params))) {
    record.confirmation ??= 'asked';
    const { sealed } = sealQuestion(call, confirmations, 'person', null);
    return new InputRequired({ [QUESTION]: formOf(call, missing) }, sealed);
  }
  if (session === null || !session.shows_forms || context.ask === null) throw refusal;
  const asked_at = confirmations.now();
  const reply = await askSession(context, context.ask, session, formOf(call, missing), confirmations);
  context.deadline.throwIfAborted();
  if (reply === 'error') throw refusal;
  if (reply !== 'timeout') return { reply, after_ms: confirmations.now() - asked_at };
  record.confirmation = 'expired';
  throw extended(refusal, 'A person was asked, and nobody answered within 2 minutes.');
}

/** One form with a field for each missing argument. */
function formOf({ tool }: PendingCall, missing: readonly Parameter[]): Members {
  const names = missing.map(({ name }) => name);
  const count = names.length === 1 ? '1 more argument' : `${names.length} more arguments`;
  return {
    mode: 'form',
    message: `${titleOf(tool)} needs ${count}: ${names.join(', ')}.`,
    requestedSchema: {
      type: 'object',
      properties: Object.fromEntries(missing.map((parameter) => [parameter.name, fieldOf(parameter)])),
      required: names,
    },
  };
}

/** The part of a parameter's schema that forms know; the rest is checked when it is filled in. */
function fieldOf(parameter: Parameter): Members {
  const { properties } = inputSchema([parameter]);
  const schema = isMembers(properties) ? properties[parameter.name] : undefined;
  if (!isMembers(schema)) return {};
  const { type, description } = schema;
  const format = FORMATS[parameter.type];
  const choices = parameter.enum;
  // Choices of a form are texts.
  const told = choices !== undefined && type !== 'string' ? `One of ${choices.join(', ')}.` : '';
  const about = [typeof description === 'string' ? plain(description) : '', told].filter((text) => text !== '').join(' ');
  const kept = CONSTRAINTS.filter((name) => schema[name] !== undefined && (name !== 'enum' || type === 'string'));
  return {
    type,
    ...(about !== '' && { description: about }),
    ...(format !== undefined && { format }),
    ...Object.fromEntries(kept.map((name) => [name, schema[name]])),
  };
}

/** What a person filled in, of what was asked for. */
function filledIn(
  { reply, after_ms }: PersonReply,
  missing: readonly Parameter[],
  { given: before, context: { record } }: PendingCall,
  refusal: AppError,
): Members {
  const { action, content } = reply;
  if (action !== 'accept' || !isMembers(content)) {
    record.confirmation = 'declined';
    throw extended(refusal, `A person was asked and declined.${tooFast(after_ms)}`);
  }
  const given = Object.fromEntries(
    missing.flatMap(({ name }) =>
      Object.hasOwn(content, name) && content[name] !== null ? [[name, content[name]] as const] : [],
    ),
  );
  const fault = depthFault(given);
  if (fault !== null) throw extended(refusal, fault);
  if (Buffer.byteLength(JSON.stringify({ ...before, ...given })) <= MOST_BYTES) return given;
  throw extended(
    refusal,
    `What a person filled in is longer than ${MOST_BYTES.toLocaleString('en')} bytes. Pass it as arguments.`,
  );
}

const extended = ({ code, detail, errors }: AppError, more: string): AppError =>
  new AppError(code, `${detail} ${more}`, { errors });

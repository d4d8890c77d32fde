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
/** Filled-in values travel sealed through the client when the tool asks again before it writes. */
const MOST_BYTES = 4_096;
/** Types that forms support (MCP, Elicitation): no lists, no objects. */
const FORMS: ReadonlySet<Parameter['type']> = new Set(['string', 'integer', 'number', 'boolean', 'date', 'datetime', 'uuid']);
const CONSTRAINTS = ['enum', 'minimum', 'maximum', 'minLength', 'maxLength'] as const;
/** Formats that forms support. */
const FORMATS: Partial<Readonly<Record<Parameter['type'], string>>> = { date: 'date', datetime: 'date-time' };

interface Filled<V> {
  readonly call: PendingCall;
  readonly values: V;
}

/**
 * Checks the arguments of a call and lets a person fill in missing ones, if there is no other fault and the client shows forms.
 * Filled-in values are checked like any argument.
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
    // A person who filled in only a part gets a form for the rest, which is shorter in every round.
    if (Object.keys(given).length > 0) return fillMissing(filled, confirmations, check);
    return { call: filled, values: await check(filled.args) };
  }
}

/** The missing parameters for a form; null: there is another fault, or a form does not support a type. */
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

/** Sends the form. Throws the refusal of the call if there is no person to answer. */
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
  const sent_at = confirmations.now();
  const reply = await askSession(context, context.ask, session, formOf(call, missing), confirmations);
  context.deadline.throwIfAborted();
  if (reply === 'error') throw refusal;
  if (reply !== 'timeout') return { reply, after_ms: confirmations.now() - sent_at };
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

/** The part of a parameter's schema that forms support; the rest is checked after it is filled in. */
function fieldOf(parameter: Parameter): Members {
  const { properties } = inputSchema([parameter]);
  const schema = isMembers(properties) ? properties[parameter.name] : undefined;
  if (!isMembers(schema)) return {};
  const { type, description } = schema;
  const format = FORMATS[parameter.type];
  const choices = parameter.enum;
  // Forms support choices between texts only.
  const choices_text = choices !== undefined && type !== 'string' ? `One of ${choices.join(', ')}.` : '';
  const about = [typeof description === 'string' ? plain(description) : '', choices_text].filter((text) => text !== '').join(' ');
  const constraints = CONSTRAINTS.filter((name) => schema[name] !== undefined && (name !== 'enum' || type === 'string'));
  return {
    type,
    ...(about !== '' && { description: about }),
    ...(format !== undefined && { format }),
    ...Object.fromEntries(constraints.map((name) => [name, schema[name]])),
  };
}

/** The requested values that a person filled in. */
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

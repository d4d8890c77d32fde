import type { Parameter } from '#core/contract/definitions/parameters.ts';
import { isMembers, type Members } from '#core/lib/view/table.ts';
import { fieldsOfSchema } from './schema-fields.ts';

/** What a tool asks a person. */
export interface Question {
  readonly message: string;
  /** Of the answer with which the call goes on. */
  readonly yes: string;
  /** Arguments to fill in; empty: it asks whether it may write. */
  readonly fields: readonly Parameter[];
}

/** What the person filled in; false: declined; null: the question was left open. */
export type PersonAnswer = Members | false | null;

/** The required field of the form that asks whether a tool may write. */
const ANSWER = 'ok';
export const MAY_WRITE: Members = { [ANSWER]: true };

/** The one form that a result asks for, with its key; undefined: it asks for nothing that a person here could answer. */
export function questionIn(result: Members): readonly [string, Question] | undefined {
  const requests = result['resultType'] === 'input_required' ? result['inputRequests'] : undefined;
  const [first] = isMembers(requests) ? Object.entries(requests) : [];
  const question = first !== undefined && isMembers(first[1]) ? formIn(first[1]['params']) : undefined;
  return first === undefined || question === undefined ? undefined : [first[0], question];
}

export function formIn(params: unknown): Question | undefined {
  if (!isMembers(params)) return undefined;
  const message = textOr(params['message'], '');
  const schema = isMembers(params['requestedSchema']) ? params['requestedSchema'] : {};
  const properties = isMembers(schema['properties']) ? schema['properties'] : {};
  const names = Object.keys(properties);
  const answer = properties[ANSWER];
  if (names.length === 1 && isMembers(answer) && answer['type'] === 'boolean') {
    return { message, yes: textOr(answer['title'], 'Confirm'), fields: [] };
  }
  return names.length === 0 ? undefined : { message, yes: 'Call', fields: fieldsOfSchema(schema) };
}

const textOr = (value: unknown, otherwise: string): string => (typeof value === 'string' ? value : otherwise);

export const responseOf = (answer: PersonAnswer): Members =>
  answer === null ? { action: 'cancel' } : answer === false ? { action: 'decline' } : { action: 'accept', content: answer };

import { isMembers, type Members } from '#core/lib/view/table.ts';

/** What a tool asks before it writes. */
export interface Question {
  readonly message: string;
  /** Of the one answer that lets it write. */
  readonly yes: string;
}

/** The required field of the form that a tool asks with. */
const ANSWER = 'ok';

/** The one form that a result asks for, with its key; undefined: it asks for nothing that a person here could answer. */
export function questionIn(result: Members): readonly [string, Question] | undefined {
  const requests = result['resultType'] === 'input_required' ? result['inputRequests'] : undefined;
  const [first] = isMembers(requests) ? Object.entries(requests) : [];
  const question = first !== undefined && isMembers(first[1]) ? formIn(first[1]['params']) : undefined;
  return first === undefined || question === undefined ? undefined : [first[0], question];
}

export function formIn(params: unknown): Question | undefined {
  if (!isMembers(params)) return undefined;
  const schema = isMembers(params['requestedSchema']) ? params['requestedSchema'] : {};
  const properties = isMembers(schema['properties']) ? schema['properties'] : {};
  const field = isMembers(properties[ANSWER]) ? properties[ANSWER] : undefined;
  if (field === undefined) return undefined;
  const text = (value: unknown, otherwise: string): string => (typeof value === 'string' ? value : otherwise);
  return { message: text(params['message'], ''), yes: text(field['title'], 'Confirm') };
}

/** @param yes null: the question was left open. */
export const responseOf = (yes: boolean | null): Members =>
  yes === null ? { action: 'cancel' } : yes ? { action: 'accept', content: { [ANSWER]: true } } : { action: 'decline' };

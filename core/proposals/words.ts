import { beginning } from '#core/lib/text/shorten.ts';
import type { TouchedRecord } from '#core/contract/proposals.ts';

const VERBS = { create: 'Create', update: 'Change', delete: 'Delete' } as const;
const LONGEST_TITLE = 120;

const nounOf = (type: TouchedRecord['entity_type']): string => type.replace('_', ' ');

/** Describes an operation in a sentence without a full stop. */
export function summaryOf(operation: string, touched: readonly TouchedRecord[]): string {
  const [first, ...rest] = touched;
  if (first === undefined) return operation;
  const prefix = operation === 'history.rollback' ? 'Roll back: ' : /import/.test(operation) ? 'Import: ' : '';
  const text = touched.some(({ entity_type, action }) => entity_type !== first.entity_type || action !== first.action)
    ? `${VERBS[first.action]} ${nounOf(first.entity_type)} ${first.entity_name}`
    : rest.length === 0
      ? one(first)
      : `${VERBS[first.action]} ${touched.length} ${nounOf(first.entity_type)}s`;
  const mixed = text.endsWith(first.entity_name) && rest.length > 0 ? ` and change ${rest.length} more` : '';
  const whole = `${text}${mixed}`;
  return prefix === '' ? whole : `${prefix}${whole.charAt(0).toLowerCase()}${whole.slice(1)}`;
}

const one = ({ entity_type, entity_name, action }: TouchedRecord): string =>
  entity_type === 'server_config' ? 'Change the server configuration' : `${VERBS[action]} ${nounOf(entity_type)} ${entity_name}`;

/** The title of a proposal without a note that has more operations than the one that it was named for. */
export const titleWithMore = (title: string, more: number): string =>
  `${title.replace(/ \(and \d+ more\)$/, '')} (and ${more} more)`;

/** The first line of the author's note, otherwise the summary of the first operation. */
export function titleOf(note: string | null, summary: string): string {
  const [line = ''] = (note ?? '').trim().split('\n');
  const text = line === '' ? summary : line;
  return text.length <= LONGEST_TITLE ? text : `${beginning(text, LONGEST_TITLE - 1).trimEnd()}…`;
}

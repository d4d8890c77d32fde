import { beginning } from '#core/lib/text/shorten.ts';
import type { TouchedRecord } from '#core/contract/proposals.ts';

const VERBS = { create: 'Create', update: 'Change', delete: 'Delete' } as const;
const LONGEST_TITLE = 120;

const nounOf = (type: TouchedRecord['entity_type']): string => type.replace('_', ' ');

/** What an operation does, as a sentence without a full stop. */
export function summaryOf(operation: string, touched: readonly TouchedRecord[]): string {
  const [first, ...rest] = touched;
  if (first === undefined) return operation;
  const prefix = operation === 'history.rollback' ? 'Roll back: ' : /import/.test(operation) ? 'Import: ' : '';
  const said = touched.some(({ entity_type, action }) => entity_type !== first.entity_type || action !== first.action)
    ? `${VERBS[first.action]} ${nounOf(first.entity_type)} ${first.entity_name}`
    : rest.length === 0
      ? one(first)
      : `${VERBS[first.action]} ${touched.length} ${nounOf(first.entity_type)}s`;
  const mixed = said.endsWith(first.entity_name) && rest.length > 0 ? ` and change ${rest.length} more` : '';
  const whole = `${said}${mixed}`;
  return prefix === '' ? whole : `${prefix}${whole.charAt(0).toLowerCase()}${whole.slice(1)}`;
}

const one = ({ entity_type, entity_name, action }: TouchedRecord): string =>
  entity_type === 'server_config' ? 'Change the server configuration' : `${VERBS[action]} ${nounOf(entity_type)} ${entity_name}`;

/** The first line of what the author says, else what the first operation does. */
export function titleOf(note: string | null, summary: string): string {
  const [line = ''] = (note ?? '').trim().split('\n');
  const text = line === '' ? summary : line;
  return text.length <= LONGEST_TITLE ? text : `${beginning(text, LONGEST_TITLE - 1).trimEnd()}…`;
}

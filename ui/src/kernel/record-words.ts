import { ACTION_CHOICES, type HistoryEntry, RECORD_CHOICES } from '#core/contract/history.ts';

type Entry = Pick<HistoryEntry, 'entity_type' | 'entity_name'>;

/** A label within a sentence: `Access token` as `access token`, `OAuth app` as it is. */
export const inSentence = (label: string): string =>
  /^[A-Z][A-Z]/.test(label) ? label : label.charAt(0).toLowerCase() + label.slice(1);

/** A kind of record within a sentence, such as `access token`. */
export const typeWord = (type: HistoryEntry['entity_type']): string => inSentence(RECORD_CHOICES[type].label);

/** An action within a sentence, such as `changed`. */
export const actionWord = (action: HistoryEntry['action']): string => inSentence(ACTION_CHOICES[action].label);

/** The name of a record. Canaries and candidates are named by their ids, which a reader does not know. */
export const recordName = ({ entity_type, entity_name }: Entry): string =>
  entity_type === 'snapshot' ? entity_name.replace(/ [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, '') : entity_name;

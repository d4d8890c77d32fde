import { isReference } from '#core/lib/sealed-values.ts';
import { ConnectionDraft } from '#core/contract/definitions/connections.ts';
import type { HistoryEntry } from '#core/contract/history.ts';
import type { Marks } from '#core/contract/marks.ts';
import { num } from '#ui/src/kernel/numbers.ts';
import { inFormOrder, infoOf } from './field-info.ts';
import { ITEM_WORDS } from './items.ts';
import { isLongText, itemLines, type Line, recordLines, valueLines } from './lines.ts';
import { OBJECT_WORDS } from './objects.ts';
import { anyWords, defaultOf, isItem, isNothing, isSame, isSecret, scalarWords } from './value-words.ts';

export interface FieldChange {
  readonly old: unknown;
  readonly new: unknown;
}

/** How one field differs, in words. */
export type Shown =
  | { readonly kind: 'pair'; readonly before: string; readonly after: string }
  | { readonly kind: 'connection'; readonly before: string | null; readonly after: string | null }
  | { readonly kind: 'text'; readonly before: string; readonly after: string }
  | { readonly kind: 'lines'; readonly lines: readonly Line[] };

export interface Difference {
  readonly name: string;
  readonly label: string;
  readonly shown: Shown;
}

export interface Differences {
  readonly fields: readonly Difference[];
  /** Labels of the fields that a new record leaves at their defaults. */
  readonly defaults: readonly string[];
}

type Changes = Readonly<Record<string, FieldChange>>;
type EntityType = HistoryEntry['entity_type'] | undefined;

/**
 * What differs between two states of a record, as people read it: no field names and no JSON.
 * @param whole the record is new or gone as a whole, so there is nothing to compare its values with.
 */
export function differencesOf(entity_type: EntityType, changes: Changes, whole?: 'added' | 'removed'): Differences {
  const fields: Difference[] = [];
  const defaults: string[] = [];
  for (const name of inFormOrder(entity_type, Object.keys(changes))) {
    const change = changes[name];
    if (change === undefined || (whole !== undefined && name === 'name')) continue;
    if (name === 'confirm_rows' && changes['confirm'] !== undefined) continue;
    const { label, schema } = infoOf(entity_type, name);
    if (whole === undefined) {
      const shown = shownOf(entity_type, name, change, changes);
      if (shown !== undefined) fields.push({ name, label: GROUPED[name] ?? label, shown });
      continue;
    }
    const value = whole === 'added' ? change.new : change.old;
    const alone = changes['confirm_rows'];
    const rows = { confirm_rows: { old: null, new: (whole === 'added' ? alone?.new : alone?.old) ?? null } };
    const shown =
      isNothing(value) || isSame(value, defaultOf(schema)) || (name in USUAL && isUsual(name, value))
        ? undefined
        : shownOf(entity_type, name, { old: undefined, new: value }, rows);
    if (shown !== undefined) fields.push({ name, label: GROUPED[name] ?? label, shown });
    else if (schema !== undefined || name in USUAL) defaults.push(GROUPED[name] ?? label);
  }
  return { fields, defaults };
}

/** What a deployed tool that reads has when neither it nor its connection sets anything else. */
const USUAL: Readonly<Record<string, unknown>> = {
  timeout_ms: defaultOf(ConnectionDraft.entries.query_timeout_ms),
  max_rows: defaultOf(ConnectionDraft.entries.max_rows),
  max_bytes: defaultOf(ConnectionDraft.entries.max_bytes),
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
};
function isUsual(name: string, value: unknown): boolean {
  if (!isItem(value)) return isSame(value, USUAL[name]);
  // The title has a line in the differences already.
  const { title: _, ...others } = value;
  return isSame(others, USUAL[name]);
}

/** Fields that the interface shows as one. */
const GROUPED: Readonly<Record<string, string>> = { confirm: 'Confirmation', confirm_rows: 'Confirmation' };

function confirmationWords(confirm: unknown, rows: unknown): string {
  if (confirm === 'always') return 'required before every change';
  if (confirm !== 'above') return 'not required';
  return typeof rows === 'number'
    ? `required above ${num(rows)} ${rows === 1 ? 'row' : 'rows'}`
    : 'required above a number of rows';
}

function confirmationOf(changes: Changes): Shown {
  const { confirm, confirm_rows } = changes;
  // If only the row count changed, the mode is `above`.
  const modeOf = (side: 'old' | 'new') => (confirm === undefined ? 'above' : confirm[side]);
  const [before, after] = (['old', 'new'] as const).map((side) => confirmationWords(modeOf(side), confirm_rows?.[side]));
  return { kind: 'pair', before: before ?? '', after: after ?? '' };
}

const isItems = (value: unknown): boolean => Array.isArray(value) && value.some(isItem);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** @returns undefined when the interface shows no difference. */
function shownOf(entity_type: EntityType, name: string, change: FieldChange, all: Changes): Shown | undefined {
  const { marks, schema } = infoOf(entity_type, name);
  // An absent value is the default.
  const preset = defaultOf(schema);
  const [old, now] = [change.old, change.new].map((value) => (value === null ? (preset ?? null) : value));
  if (name === 'confirm' || name === 'confirm_rows') return confirmationOf({ ...all, [name]: change });
  if (name === 'connection_id') return { kind: 'connection', before: idOf(old), after: idOf(now) };
  if (marks?.secret === true || isSecret(old) || isSecret(now)) return asLines([secretLine(old, now)]);
  const lines = linesOf(name, old, now, marks);
  if (lines !== undefined) return asLines(lines);
  if (marks?.control === 'code' || isLongText(old) || isLongText(now))
    return isSame(old, now) ? undefined : { kind: 'text', before: textOf(old), after: textOf(now) };
  const [before, after] = [scalarWords(old, marks, name), scalarWords(now, marks, name)];
  return before === after ? undefined : { kind: 'pair', before, after };
}

function linesOf(name: string, old: unknown, now: unknown, marks: Marks | undefined): readonly Line[] | undefined {
  const items = ITEM_WORDS[name];
  if (items !== undefined && (isItems(old) || isItems(now))) return itemLines(items, old, now);
  const object = OBJECT_WORDS[name];
  if (isItem(old) || isItem(now)) return object?.(old, now) ?? recordLines(old, now);
  if (!Array.isArray(old) && !Array.isArray(now)) return undefined;
  if (isSame(old ?? [], now ?? [])) return [];
  return valueLines(old, now, (value) => marks?.choices?.[value]?.label ?? value);
}

const asLines = (lines: readonly Line[]): Shown | undefined => (lines.length === 0 ? undefined : { kind: 'lines', lines });
const idOf = (value: unknown): string | null => (isNothing(value) ? null : anyWords(value));

function secretLine(old: unknown, now: unknown): Line {
  if (isNothing(now)) return { kind: 'removed', text: 'removed' };
  const kind = isNothing(old) ? 'added' : 'changed';
  return { kind, text: isReference(now) ? now.ref : kind === 'added' ? 'set' : 'replaced' };
}

import { REDACTED, type HistoryEntry } from '#core/contract/history.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { HistoryRow } from './history.ts';
import { secretsIn, replaceSealed } from '#core/lib/sealed-values.ts';
import { AppError } from '#core/errors.ts';
import type { ShortEntry } from '#core/contract/agent-tools.ts';
import { changedFields } from './changed-fields.ts';
import { isAdministrator } from '#core/context/roles.ts';
import type { Actor } from '#core/context/context.ts';

const withoutValues = (claims: object): object => Object.fromEntries(Object.keys(claims).map((name) => [name, REDACTED]));

/** An entry as a response shows it: with its changes and without secrets. */
export function toEntry(app: Platform, row: HistoryRow): HistoryEntry {
  const { before, after, actor_name: _, ...entry } = row;
  return {
    ...(entry as Omit<HistoryEntry, 'changes' | 'snapshot' | 'secrets_unavailable'>),
    changes: changesBetween(before, after),
    snapshot: redact(after ?? before) as Record<string, unknown> | null,
    ...(secretsOpen(app, row) ? {} : { secrets_unavailable: true as const }),
  };
}

/** Throws `secrets_unavailable` when no key opens a secret of the state before the entry. */
export function openSecrets({ keyring }: Platform, { entity_type, entity_id, before }: HistoryRow): void {
  const prefix = entity_type === 'server_config' ? entity_type : `${entity_type}/${entity_id}`;
  for (const { sealed, path } of secretsIn(before, prefix)) keyring.open(sealed, path);
}

function secretsOpen(app: Platform, row: HistoryRow): boolean {
  try {
    openSecrets(app, row);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === 'secrets_unavailable') return false;
    throw error;
  }
}

function changesBetween(before: Record<string, unknown> | null, after: Record<string, unknown> | null): HistoryEntry['changes'] {
  return Object.fromEntries(
    changedFields(before, after).map((name) => [
      name,
      { old: redact(before?.[name] ?? null), new: redact(after?.[name] ?? null) },
    ]),
  );
}

/** Characters of a value in a short entry, and how many equal ones precede the first that differs. */
const MAX_CHARACTERS = 200;

const EQUAL_CHARACTERS = 40;

/** An entry in a list for models: without the record, and with long values cut to where they differ. */
export function shortEntry(actor: Actor | null, { snapshot: _, ...whole }: HistoryEntry): ShortEntry {
  // Claims are hidden first: after the cut they are part of a text, in which they would not be found.
  const { changes, ...entry } = isAdministrator(actor) ? whole : hideClaims(whole);
  const is_whole = entry.entity_type !== 'snapshot' && (entry.version_before === null) !== (entry.version_after === null);
  if (is_whole) return { ...entry, changes: {} };
  return { ...entry, changes: Object.fromEntries(Object.entries(changes).map(([name, both]) => [name, shortChange(both)])) };
}

function shortChange({ old, new: now }: { readonly old: unknown; readonly new: unknown }) {
  const [before, after] = [textOf(old), textOf(now)];
  const [a, b] = [Array.from(before), Array.from(after)];
  const differs = a.findIndex((letter, at) => letter !== b[at]);
  const from = Math.max(0, (differs === -1 ? a.length : differs) - EQUAL_CHARACTERS);
  const cut = (value: unknown, letters: readonly string[]): unknown => {
    if (letters.length <= MAX_CHARACTERS) return value;
    const part = letters.slice(from, from + MAX_CHARACTERS);
    return `${from > 0 ? '…' : ''}${part.join('')}${from + part.length < letters.length ? '…' : ''}`;
  };
  return { old: cut(old, a), new: cut(now, b) };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const redact = (value: unknown): unknown => replaceSealed(value, () => REDACTED);

/**
 * Replaces the values of claims that OAuth clients have. Row-level rules read these values, so only administrators see them; the names
 * stay. A value without claims is returned unchanged.
 */
export function hideClaims<T>(value: T): T {
  return hidden(value, false) as T;
}

function hidden(value: unknown, of_clients: boolean): unknown {
  if (typeof value !== 'object' || value === null) return value;
  let copy: unknown[] | Record<string, unknown> | undefined;
  for (const [name, item] of Object.entries(value)) {
    const is_hidden = of_clients && name === 'claims' && typeof item === 'object' && item !== null;
    const shown = is_hidden ? withoutValues(item) : hidden(item, of_clients || name === 'oauth_clients');
    if (shown === item) continue;
    copy ??= Array.isArray(value) ? [...value] : { ...value };
    Reflect.set(copy, name, shown);
  }
  return copy ?? value;
}

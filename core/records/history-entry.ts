import type { Platform } from '#core/platform/platform.ts';
import type { ShortEntry } from '#core/contract/agent-tools.ts';
import { type HistoryEntry, REDACTED } from '#core/contract/history.ts';
import { hideClaims } from './hidden-claims.ts';
import { AppError } from '#core/errors.ts';
import { isAdministrator } from '#core/context/roles.ts';
import { replaceSealed, secretsIn } from '#core/lib/sealed-values.ts';
import { fingerprintOf } from '#core/lib/secrets.ts';
import type { Actor } from '#core/context/context.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import type { HistoryRow } from './history.ts';

/** An entry as a response shows it: what changed, and no secret. */
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
  const place = entity_type === 'server_config' ? entity_type : `${entity_type}/${entity_id}`;
  for (const secret of secretsIn(before, place)) keyring.open(secret.sealed, secret.place);
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

/** Fields that every write sets. */
const UNTOLD = ['id', 'version', 'created_at', 'updated_at'];

function changesBetween(before: Record<string, unknown> | null, after: Record<string, unknown> | null): HistoryEntry['changes'] {
  const names = Object.keys({ ...before, ...after }).filter((name) => !UNTOLD.includes(name));
  const differing = names.filter((name) => comparable(before?.[name]) !== comparable(after?.[name]));
  return Object.fromEntries(
    differing.map((name) => [name, { old: redact(before?.[name] ?? null), new: redact(after?.[name] ?? null) }]),
  );
}

/** Characters of a value in a short entry, and how many of what both values share stand before the first that differs. */
const LONGEST_VALUE = 200;
const SHARED = 40;

/**
 * An entry for a model that looks for one: without the record itself, which the fields of a created or deleted one repeat, and with
 * long values cut to where they differ.
 */
export function shortEntry(actor: Actor | null, { snapshot: _, ...whole }: HistoryEntry): ShortEntry {
  // What is cut here is text, in which nothing is hidden later.
  const { changes, ...entry } = isAdministrator(actor) ? whole : hideClaims(whole);
  const is_whole = entry.entity_type !== 'snapshot' && (entry.version_before === null) !== (entry.version_after === null);
  if (is_whole) return { ...entry, changes: {} };
  return { ...entry, changes: Object.fromEntries(Object.entries(changes).map(([name, both]) => [name, shortChange(both)])) };
}

function shortChange({ old, new: now }: { readonly old: unknown; readonly new: unknown }) {
  const [before, after] = [textOf(old), textOf(now)];
  const [a, b] = [Array.from(before), Array.from(after)];
  const differs = a.findIndex((letter, at) => letter !== b[at]);
  const from = Math.max(0, (differs === -1 ? a.length : differs) - SHARED);
  const cut = (value: unknown, letters: readonly string[]): unknown => {
    if (letters.length <= LONGEST_VALUE) return value;
    const part = letters.slice(from, from + LONGEST_VALUE);
    return `${from > 0 ? '…' : ''}${part.join('')}${from + part.length < letters.length ? '…' : ''}`;
  };
  return { old: cut(old, a), new: cut(now, b) };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Sealing a secret again is no change of it. */
const comparable = (value: unknown): string =>
  canonical(replaceSealed(value ?? null, (sealed) => ({ $secret: fingerprintOf(sealed) })));

const redact = (value: unknown): unknown => replaceSealed(value, () => REDACTED);

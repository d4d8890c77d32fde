import type { SnapshotChange } from '#core/contract/deploy/deploy.ts';
import { ENTITIES, FROZEN_KINDS } from '#core/contract/entities.ts';
import { REDACTED } from '#core/contract/history.ts';
import { replaceSealed } from '#core/lib/sealed-values.ts';
import type { SqlNode } from '#core/lib/sql/statement.ts';
import { breaking } from './breaking.ts';
import { canonical, checksum } from '#snapshots/format/canonical.ts';
import type { SnapshotContent } from '#snapshots/format/format.ts';

type Item = Readonly<Record<string, unknown>>;
type Named = { readonly name: string } & Item;

/** Lists the changes between two contents, by entity and field; with `before` null, everything is new. */
export function diff(before: SnapshotContent | null, after: SnapshotContent): SnapshotChange[] {
  return [
    ...serverChanges(before, after),
    ...FROZEN_KINDS.flatMap((kind) => {
      const { plural } = ENTITIES[kind];
      return compareNamed(kind, before?.[plural] ?? [], after[plural] ?? []);
    }),
  ];
}

function serverChanges(before: SnapshotContent | null, after: SnapshotContent): SnapshotChange[] {
  if (before === null) return [];
  const values = changedValues('server_config', { ...before.server }, { ...after.server });
  const fields = Object.keys(values);
  if (fields.length === 0) return [];
  const found = breaking('server_config', before.server, after.server);
  const { server_name: name } = after.server;
  return [
    { entity_type: 'server_config', name, connection_id: null, change: 'changed', fields, values, risks: [], breaking: found },
  ];
}

function compareNamed(
  entity_type: SnapshotChange['entity_type'],
  before: readonly object[],
  after: readonly object[],
): SnapshotChange[] {
  const old = new Map((before as readonly Named[]).map((item) => [item.name, item]));
  const now = new Map((after as readonly Named[]).map((item) => [item.name, item]));
  const changes: SnapshotChange[] = [];
  for (const [name, item] of now) {
    const previous = old.get(name);
    if (previous === undefined) {
      const values = changedValues(entity_type, {}, item);
      changes.push({ ...about(entity_type, item), change: 'added', fields: [], values, risks: risksOf(item), breaking: [] });
      continue;
    }
    const values = changedValues(entity_type, previous, item);
    const fields = Object.keys(values);
    if (fields.length === 0) continue;
    const broken = breaking(entity_type, previous, item);
    changes.push({ ...about(entity_type, item), change: 'changed', fields, values, risks: risksOf(item), breaking: broken });
  }
  for (const [name, item] of old) {
    if (now.has(name)) continue;
    const lost = entity_type === 'connection' ? [] : [`The ${entity_type} ${name} is no longer offered.`];
    changes.push({ ...about(entity_type, item), change: 'removed', fields: [], values: {}, risks: [], breaking: lost });
  }
  return changes;
}

const about = (entity_type: SnapshotChange['entity_type'], { name, connection_id }: Named) => ({
  entity_type,
  name,
  connection_id: typeof connection_id === 'string' ? connection_id : null,
});

const DELETES = /\b(?:delete|truncate|drop|merge|replace)\b/i;
const TEXTS_AND_COMMENTS = /'(?:[^']|'')*'|--[^\n]*|\/\*[^]*?\*\//g;

/** The risk to show before a deploy. The mode decides whether a statement writes; keywords only tell whether it deletes. */
function risksOf(item: Named): SnapshotChange['risks'] {
  if (item['mode'] !== 'write') return [];
  const { nodes } = item['statement'] as { nodes: readonly SqlNode[] };
  return [DELETES.test(statementText(nodes).replace(TEXTS_AND_COMMENTS, ' ')) ? 'deletes_rows' : 'changes_rows'];
}

/** Names that people know for fields that a snapshot contains in another form. */
const KNOWN_AS: Readonly<Record<string, string>> = {
  statement: 'sql_query',
  mode: 'read_only',
  outputSchema: 'output_schema',
  mimeType: 'mime_type',
  uri: 'uri_template',
  uriTemplate: 'uri_template',
};
/** Derived from other fields. */
const DERIVED = new Set(['id', 'pool_key', 'inputSchema', 'listing']);

/** Lists all different fields, sorted, under the names that people know, with both values in displayable form. */
function changedValues(entity_type: SnapshotChange['entity_type'], before: Item, after: Item): SnapshotChange['values'] {
  // Secrets compare by fingerprint, because they may be encrypted again. In other kinds, a value that looks sealed is no secret.
  const comparable = entity_type === 'server_config' || entity_type === 'connection' ? checksum : (text: string) => text;
  const found = new Map<string, { old: unknown; new: unknown }>();
  for (const [old, now] of [
    [before, after],
    [listingOf(before), listingOf(after)],
  ] as const) {
    for (const field of new Set([...Object.keys(old), ...Object.keys(now)])) {
      const name = KNOWN_AS[field] ?? field;
      if (DERIVED.has(field) || found.has(name)) continue;
      if (comparable(canonical(old[field])) === comparable(canonical(now[field]))) continue;
      const [was, is] = [shown(field, old[field]), shown(field, now[field])];
      if (was !== null || is !== null) found.set(name, { old: was, new: is });
    }
  }
  return Object.fromEntries([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const listingOf = (item: Item): Item => (item['listing'] ?? {}) as Item;

const SHOWN_AS: Readonly<Record<string, (value: unknown) => unknown>> = {
  statement: (value) => statementText((value as { nodes: readonly SqlNode[] }).nodes),
  mode: (value) => value !== 'write',
};

/** The value in the form that people know, without secrets; null if absent. */
function shown(field: string, value: unknown): unknown {
  if (value === undefined || value === null) return null;
  return replaceSealed(SHOWN_AS[field]?.(value) ?? value, () => REDACTED);
}

const SPELT = { in: 'IN ', not_in: 'NOT IN ' } as const;

/** Formats a statement with parameter names, and with optional blocks in double brackets. */
function statementText(nodes: readonly SqlNode[]): string {
  return nodes
    .map((node) => {
      if (typeof node === 'string') return node;
      if ('block' in node) return `[[${statementText(node.block)}]]`;
      return node.in === undefined ? `:${node.name}` : `${SPELT[node.in]}(:${node.name})`;
    })
    .join('');
}

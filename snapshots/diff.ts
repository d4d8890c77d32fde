import type { Change } from '#core/contract/deploy/deploy.ts';
import { ENTITIES, ENTITY_KINDS } from '#core/contract/entities.ts';
import { REDACTED } from '#core/contract/history.ts';
import { replaceSealed } from '#core/lib/places.ts';
import type { SqlNode } from '#core/lib/sql/statement.ts';
import { breaking } from './breaking.ts';
import { canonical, checksum } from './canonical.ts';
import type { SnapshotContent } from './format.ts';

type Item = Readonly<Record<string, unknown>>;
type Named = { readonly name: string } & Item;

/** What changes from one content to another, per entity and field; `before` null means everything is new. */
export function diff(before: SnapshotContent | null, after: SnapshotContent): Change[] {
  return [
    ...serverChanges(before, after),
    ...ENTITY_KINDS.flatMap((kind) => {
      const { plural } = ENTITIES[kind];
      return compareNamed(kind, before?.[plural] ?? [], after[plural]);
    }),
  ];
}

function serverChanges(before: SnapshotContent | null, after: SnapshotContent): Change[] {
  if (before === null) return [];
  const values = changedValues({ ...before.server }, { ...after.server });
  const fields = Object.keys(values);
  if (fields.length === 0) return [];
  const found = breaking('server_config', before.server, after.server);
  return [{ entity_type: 'server_config', name: after.server.server_name, change: 'changed', fields, values, breaking: found }];
}

function compareNamed(entity_type: Change['entity_type'], before: readonly object[], after: readonly object[]): Change[] {
  const old = new Map((before as readonly Named[]).map((item) => [item.name, item]));
  const now = new Map((after as readonly Named[]).map((item) => [item.name, item]));
  const changes: Change[] = [];
  for (const [name, item] of now) {
    const previous = old.get(name);
    if (previous === undefined) {
      changes.push({ entity_type, name, change: 'added', fields: [], values: {}, breaking: [] });
      continue;
    }
    const values = changedValues(previous, item);
    const fields = Object.keys(values);
    if (fields.length > 0)
      changes.push({ entity_type, name, change: 'changed', fields, values, breaking: breaking(entity_type, previous, item) });
  }
  for (const name of old.keys()) {
    if (now.has(name)) continue;
    const lost = entity_type === 'connection' ? [] : [`The ${entity_type} ${name} is no longer offered.`];
    changes.push({ entity_type, name, change: 'removed', fields: [], values: {}, breaking: lost });
  }
  return changes;
}

/** Names under which people know what a snapshot holds in another form. */
const KNOWN_AS: Readonly<Record<string, string>> = {
  statement: 'sql_query',
  mode: 'read_only',
  outputSchema: 'output_schema',
  mimeType: 'mime_type',
  uri: 'uri_template',
  uriTemplate: 'uri_template',
};
/** Follows from something else that is named. */
const DERIVED = new Set(['pool_key', 'inputSchema', 'listing']);

/** Every field that differs by the name that people know, sorted, with both values as they may be shown. */
function changedValues(before: Item, after: Item): Change['values'] {
  const found = new Map<string, { old: unknown; new: unknown }>();
  for (const [old, now] of [
    [before, after],
    [listingOf(before), listingOf(after)],
  ] as const) {
    for (const field of new Set([...Object.keys(old), ...Object.keys(now)])) {
      const name = KNOWN_AS[field] ?? field;
      if (DERIVED.has(field) || found.has(name)) continue;
      if (checksum(canonical(old[field])) === checksum(canonical(now[field]))) continue;
      found.set(name, { old: shown(field, old[field]), new: shown(field, now[field]) });
    }
  }
  return Object.fromEntries([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const listingOf = (item: Item): Item => (item['listing'] ?? {}) as Item;

const SHOWN_AS: Readonly<Record<string, (value: unknown) => unknown>> = {
  statement: (value) => statementText((value as { nodes: readonly SqlNode[] }).nodes),
  mode: (value) => value !== 'write',
};

/** A value as people know it, without secrets; null for what was not there. */
function shown(field: string, value: unknown): unknown {
  if (value === undefined || value === null) return null;
  return replaceSealed(SHOWN_AS[field]?.(value) ?? value, () => REDACTED);
}

const SPELT = { in: 'IN ', not_in: 'NOT IN ' } as const;

/** A statement as it is written: parameters by their names, optional parts in double brackets. */
function statementText(nodes: readonly SqlNode[]): string {
  return nodes
    .map((node) => {
      if (typeof node === 'string') return node;
      if ('block' in node) return `[[${statementText(node.block)}]]`;
      return node.in === undefined ? `:${node.name}` : `${SPELT[node.in]}(:${node.name})`;
    })
    .join('');
}

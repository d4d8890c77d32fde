import type { Change } from '#core/contract/deploy.ts';
import { canonical, checksum } from './canonical.ts';
import type { SnapshotContent } from './format.ts';

type Named = { readonly name: string } & Readonly<Record<string, unknown>>;

/** What changes from one content to another, per entity and field; `before` null means everything is new. */
export function diff(before: SnapshotContent | null, after: SnapshotContent): Change[] {
  return [
    ...serverChanges(before, after),
    ...compareNamed('connection', before?.connections ?? [], after.connections),
    ...compareNamed('tool', before?.tools ?? [], after.tools),
    ...compareNamed('resource', before?.resources ?? [], after.resources),
    ...compareNamed('prompt', before?.prompts ?? [], after.prompts),
  ];
}

function serverChanges(before: SnapshotContent | null, after: SnapshotContent): Change[] {
  if (before === null) return [];
  const fields = changedFields({ ...before.server }, { ...after.server });
  return fields.length === 0
    ? []
    : [{ entity_type: 'server_config', name: after.server.server_name, change: 'changed', fields, breaking: [] }];
}

function compareNamed(entity_type: Change['entity_type'], before: readonly object[], after: readonly object[]): Change[] {
  const old = new Map((before as readonly Named[]).map((item) => [item.name, item]));
  const now = new Map((after as readonly Named[]).map((item) => [item.name, item]));
  const changes: Change[] = [];
  for (const [name, item] of now) {
    const previous = old.get(name);
    if (previous === undefined) {
      changes.push({ entity_type, name, change: 'added', fields: [], breaking: [] });
      continue;
    }
    const fields = changedFields(previous, item);
    if (fields.length > 0)
      changes.push({ entity_type, name, change: 'changed', fields, breaking: breaking(entity_type, previous, item) });
  }
  for (const name of old.keys()) {
    if (now.has(name)) continue;
    const lost = entity_type === 'connection' ? [] : [`The ${entity_type} ${name} is no longer offered.`];
    changes.push({ entity_type, name, change: 'removed', fields: [], breaking: lost });
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

function changedFields(before: Readonly<Record<string, unknown>>, after: Readonly<Record<string, unknown>>): string[] {
  const differing = (a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>) =>
    [...new Set([...Object.keys(a), ...Object.keys(b)])].filter(
      (field) => checksum(canonical(a[field])) !== checksum(canonical(b[field])),
    );
  const listed = differing(listingOf(before), listingOf(after));
  const names = [...differing(before, after), ...listed]
    .filter((field) => !DERIVED.has(field))
    .map((field) => KNOWN_AS[field] ?? field);
  return [...new Set(names)].sort();
}

const listingOf = (item: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  (item['listing'] ?? {}) as Readonly<Record<string, unknown>>;

interface Argument {
  readonly name: string;
  readonly required: boolean;
  readonly type?: string;
}

const argumentsOf = (item: Named): readonly Argument[] => (item['parameters'] ?? item['arguments'] ?? []) as readonly Argument[];

/** What a client that knows the old version may trip over. */
function breaking(noun: string, before: Named, after: Named): string[] {
  const old = new Map(argumentsOf(before).map((item) => [item.name, item]));
  const found: string[] = [];
  for (const item of argumentsOf(after)) {
    const previous = old.get(item.name);
    old.delete(item.name);
    if (item.required && previous?.required !== true) found.push(`The argument ${item.name} of this ${noun} is now required.`);
    if (previous !== undefined && previous.type !== item.type)
      found.push(`The argument ${item.name} of this ${noun} has another type.`);
  }
  for (const name of old.keys()) found.push(`The argument ${name} of this ${noun} is no longer accepted.`);
  return found;
}

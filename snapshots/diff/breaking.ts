import type * as v from 'valibot';
import { ServerConfigPatch } from '#core/contract/settings/config.ts';
import type { SnapshotChange } from '#core/contract/deploy/deploy.ts';
import { ENTITIES } from '#core/contract/entities.ts';
import { marked } from '#core/contract/marks.ts';

type Item = Readonly<Record<string, unknown>>;
type Rule = (noun: string, before: Item, after: Item) => string[];

/**
 * Changes that can break a client of the old version, as sentences. Wider is not breaking: more values, more columns, no sign-in.
 */
export function breaking(noun: SnapshotChange['entity_type'], before: object, after: object): string[] {
  const [old, now]: [Item, Item] = [{ ...before }, { ...after }];
  const fields = FIELDS[noun].flatMap(([field, { breaking: says }]) => {
    const [given, known] = [now[field] ?? null, old[field] ?? null];
    const sentence = given === known ? undefined : says?.(given, known, { old, now });
    return typeof sentence === 'string' ? [sentence] : [];
  });
  return [...fields, ...RULES[noun].flatMap((rule) => rule(noun, old, now))];
}

/** Fields whose marks define when a change is breaking. */
const breakingFields = (entries: v.ObjectEntries) => marked(entries, ({ breaking: says }) => says !== undefined);
const FIELDS: Readonly<Record<SnapshotChange['entity_type'], ReturnType<typeof breakingFields>>> = {
  server_config: breakingFields(ServerConfigPatch.entries),
  connection: breakingFields(ENTITIES.connection.draft.entries),
  tool: breakingFields(ENTITIES.tool.draft.entries),
  resource: breakingFields(ENTITIES.resource.draft.entries),
  prompt: breakingFields(ENTITIES.prompt.draft.entries),
  toolset: breakingFields(ENTITIES.toolset.draft.entries),
};

/** Rules that compare more than one field. */
const RULES: Readonly<Record<SnapshotChange['entity_type'], readonly Rule[]>> = {
  server_config: [clientRule],
  connection: [],
  tool: [argumentRule, resultRule, annotationRule],
  resource: [variableRule],
  prompt: [argumentRule],
  // Checked with the definitions in `lost-members.ts`.
  toolset: [],
};

function clientRule(_: string, before: Item, after: Item): string[] {
  if (after['auth_type'] !== 'oauth_credentials') return [];
  const clients = new Set(clientsOf(after));
  return clientsOf(before)
    .filter((id) => !clients.has(id))
    .map((id) => `The OAuth client ${id} no longer gets tokens.`);
}

const clientsOf = ({ oauth_clients }: Item): string[] =>
  ((oauth_clients ?? []) as readonly { readonly client_id: string }[]).map(({ client_id }) => client_id);

interface Argument extends Item {
  readonly name: string;
  readonly required: boolean;
  readonly default?: unknown;
}

/** Arguments that a client sends; parameters with a source are not among them. */
const argumentsOf = (item: Item): readonly Argument[] =>
  ((item['parameters'] ?? item['arguments'] ?? []) as readonly Argument[]).filter(({ from }) => from === undefined);

function argumentRule(noun: string, before: Item, after: Item): string[] {
  const old = new Map(argumentsOf(before).map((item) => [item.name, item]));
  const found: string[] = [];
  for (const item of argumentsOf(after)) {
    const previous = old.get(item.name);
    old.delete(item.name);
    const which = `The argument ${item.name} of this ${noun}`;
    if (mustBeGiven(item) && (previous === undefined || !mustBeGiven(previous))) found.push(`${which} is now required.`);
    if (previous === undefined) continue;
    if (previous['type'] !== item['type'] || previous['items'] !== item['items']) found.push(`${which} has a different type.`);
    else if (isNarrower(previous, item)) found.push(`${which} takes fewer values.`);
  }
  for (const name of old.keys()) found.push(`The argument ${name} of this ${noun} is no longer accepted.`);
  return found;
}

/** A value is required when the parameter is required and has no default. */
const mustBeGiven = ({ required, default: fallback = null }: Argument): boolean => required && fallback === null;

/** Whether the argument can refuse a value that it accepted before. */
function isNarrower(old: Item, now: Item): boolean {
  const raised = (field: string): boolean => Number(now[field] ?? -Infinity) > Number(old[field] ?? -Infinity);
  const lowered = (field: string): boolean => Number(now[field] ?? Infinity) < Number(old[field] ?? Infinity);
  const pattern = now['pattern'] !== undefined && now['pattern'] !== old['pattern'];
  const allowed = now['enum'] as readonly unknown[] | undefined;
  const known = old['enum'] as readonly unknown[] | undefined;
  const fewer = allowed !== undefined && (known === undefined || known.some((value) => !allowed.includes(value)));
  return pattern || fewer || ['minimum', 'min_length'].some(raised) || ['maximum', 'max_length'].some(lowered);
}

const ANNOTATIONS: readonly (readonly [hint: string, dangerous: boolean, sentence: string])[] = [
  ['readOnlyHint', false, 'This tool can now change data.'],
  ['destructiveHint', true, 'This tool can now destroy data.'],
  ['idempotentHint', false, 'Calling this tool again can now have another effect.'],
  ['openWorldHint', true, 'This tool can now reach other systems.'],
];

/** Clients run harmless tools without confirmation. Only the first of several changes is reported. */
function annotationRule(_: string, before: Item, after: Item): string[] {
  const [old, now] = [before, after].map((item) => (listingOf(item)['annotations'] ?? {}) as Item);
  return ANNOTATIONS.filter(([hint, dangerous]) => old?.[hint] === !dangerous && now?.[hint] === dangerous)
    .map(([, , sentence]) => sentence)
    .slice(0, 1);
}

const listingOf = (item: Item): Item => (item['listing'] ?? {}) as Item;

/** A new address is reported alone, without changed variables. */
function variableRule(noun: string, before: Item, after: Item): string[] {
  return before['uri_template'] === after['uri_template'] ? argumentRule(noun, before, after) : [];
}

function resultRule(_: string, before: Item, after: Item): string[] {
  if (before['return_type'] !== after['return_type']) return [];
  const [old, now] = [before, after].map((item) => listingOf(item)['outputSchema'] as Schema | undefined);
  if (old === undefined) return [];
  // The columns of a statement are unknown while its database is unreachable.
  if (old.properties?.['affected_rows'] === undefined && now?.properties?.['affected_rows'] !== undefined) return [];
  if (now === undefined) return ['The result of this tool has a different structure.'];
  return compareResults(old, now);
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly contentEncoding?: string;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

function compareResults(old: Schema, now: Schema, name = ''): string[] {
  const types = typesOf(old);
  const what = name === '' ? 'The result of this tool' : `${name} in the result of this tool`;
  if ([...typesOf(now)].some((type) => !types.has(type))) return [`${what} has a different type.`];
  if (old.items !== undefined && now.items !== undefined) return compareResults(old.items, now.items, name);
  const [known, given] = [objectOf(old), objectOf(now)];
  if (known?.properties === undefined || given?.properties === undefined) return [];
  const { properties } = given;
  return (known.required ?? []).flatMap((field) => {
    const [before, after] = [known.properties?.[field], properties[field]];
    if (after === undefined) return [`${field} is no longer in the result of this tool.`];
    return before === undefined ? [] : compareResults(before, after, field);
  });
}

/** The types of a schema, from a list or from branches. Bytes count as a different type than text. */
function typesOf(schema: Schema): Set<string> {
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
  const mark = schema.contentEncoding ?? '';
  return new Set([
    ...types.map((type) => (type === 'string' ? type + mark : type)),
    ...(schema.anyOf ?? []).flatMap((one) => [...typesOf(one)]),
  ]);
}

/** The object schema of a value that is an object, or an object or null. */
function objectOf(schema: Schema): Schema | undefined {
  if (schema.properties !== undefined) return schema;
  return schema.anyOf?.map(objectOf).find((found) => found !== undefined);
}

import * as v from 'valibot';
import { field } from './marks.ts';

/** Ciphertext of a secret with a keyed fingerprint of its plain text. Hashes include only the fingerprint. */
export interface Sealed {
  readonly $sealed: string;
}

/** The result of a check or a test. */
export const CHECK_CHOICES = { passed: { label: 'Passed' }, failed: { label: 'Failed' }, skipped: { label: 'Skipped' } };

/** Fields that several kinds share. */
export const Id = v.pipe(v.string(), v.description('UUIDv7'));

export const Checksum = v.pipe(v.string(), v.regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256: and 64 hex digits'));

export const Timestamp = v.pipe(v.string(), v.description('ISO 8601, UTC, milliseconds'));

/** Long lists are counted up to here: a `total` of 10 001 means more than 10 000. */
export const MOST_COUNTED = 10_001;

export const integerBetween = (min: number, max: number) => v.pipe(v.number(), v.integer(), v.minValue(min), v.maxValue(max));

export const textBetween = (min: number, max: number) => v.pipe(v.string(), v.minLength(min), v.maxLength(max));

const SHOWN: unique symbol = Symbol('shown');

/**
 * Text that people read. Input of only white space or invisible characters is refused as empty; stored values are returned as
 * they are.
 */
export const shownText = (max: number) => ({ ...textBetween(1, max), [SHOWN]: true });

export const isShown = (schema: object): boolean => SHOWN in schema;

/** Why a version, candidate or canary was created. */
export const VersionNote = v.optional(v.nullable(textBetween(1, 1_000)), null);

/** The name of a tool, resource or prompt. */
export const EntityName = v.pipe(
  v.string(),
  v.regex(
    /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/,
    'must begin with a letter or underscore and hold at most 64 letters, digits, underscores and hyphens',
  ),
);

export const Title = v.nullable(textBetween(1, 200));

export const Description = textBetween(1, 5_000);

/** Maximum characters of a statement or a template. */
export const LONGEST_STATEMENT = 100_000;

export const SqlText = textBetween(1, LONGEST_STATEMENT);

export const TemplateText = v.nullable(textBetween(1, LONGEST_STATEMENT));

export const Tags = v.pipe(v.array(textBetween(1, 64)), v.maxLength(50));

/** Labels of tools, resources and prompts, for people and models. */
export const texts = {
  name: field(EntityName, {
    label: 'Name',
    help: 'Letters, digits, _ and -. A verb and a noun read well: find_orders.',
    open: true,
  }),
  title: field(Title, { label: 'Title', help: 'For people, in clients that show one.', open: true, default: null }),
  description: field(Description, {
    label: 'Description',
    help: 'What it returns, when to use it, and units. Written for the model that will use it.',
    control: 'area',
    open: true,
  }),
};

export const definitionTags = field(Tags, {
  label: 'Tags',
  help: 'For finding and grouping here. Models do not see them.',
  open: true,
  default: [],
});

/** The template for a result. */
export const TransformTemplate = v.pipe(
  TemplateText,
  v.description(
    'Jinja2-style. Reads rows (objects), params.<name>, vars.<name>, caller.<field> (sub, name, email, client_id, groups, token, claims)',
  ),
);

export const template = field(TransformTemplate, { label: 'Transform template', control: 'code', open: true, default: null });

export const Version = v.pipe(integerBetween(1, 2 ** 31 - 1), v.description('Must be the stored version'));

/** The author of a change, stored with it. */
export const StoredActor = v.object({ type: v.string(), id: v.nullable(v.string()), name: v.string() });

export type StoredActor = v.InferOutput<typeof StoredActor>;

/** Fields that the store adds to every record. */
export const stored = { version: Version, created_at: Timestamp, updated_at: Timestamp };

export const Warnings = v.array(v.string());

export const Skip = v.optional(integerBetween(0, 2 ** 31 - 1), 0);

export const listInput = (max: number) => ({ skip: Skip, limit: v.optional(integerBetween(1, max), Math.min(50, max)) });

/** Maximum records that one request lists or changes. */
export const MOST_AT_ONCE = 500;

/** Common filters of all lists of entities. */
export const entityFilters = {
  ...listInput(MOST_AT_ONCE),
  search: v.pipe(v.optional(textBetween(1, 200)), v.description('Words of names, descriptions and tags')),
  enabled: v.optional(v.boolean()),
};

export const listOf = <T extends v.GenericSchema>(item: T) => v.object({ items: v.array(item), total: v.number() });

/** Returned to agents by updates. */
export const Unchanged = v.optional(v.pipe(v.literal(true), v.description('Nothing was to be changed')));

export const Nothing = v.object({});

export const Empty = v.strictObject({});

export const byId = v.strictObject({ id: Id });

/** Makes all fields of a draft optional, without defaults, for a PATCH. */
export function patchOf<E extends v.ObjectEntries>(entries: E) {
  const patch = Object.fromEntries(
    Object.entries(entries).map(([name, schema]) => [
      name,
      v.optional('wrapped' in schema && schema.type === 'optional' ? schema.wrapped : schema),
    ]),
  );
  return patch as { [K in keyof E]: v.OptionalSchema<E[K] extends v.OptionalSchema<infer W, infer _> ? W : E[K], undefined> };
}

const REFERENCE = /^(?:env|file|vault|exec):/;

/** Where a secret is found, sent instead of the secret. `core/lib/text/secret-reference.ts` reads it. */
export const SecretRef = v.strictObject({
  ref: v.pipe(textBetween(1, 1_024), v.regex(REFERENCE, 'must begin with env:, file:, vault: or exec:')),
});
export type SecretRef = v.InferOutput<typeof SecretRef>;

/** A secret, or where it is found. */
export const secretOrRef = <S extends v.GenericSchema>(secret: S) => v.union([secret, SecretRef], 'must be the secret or {ref}');

/** Present in a response only if the secret is a reference. */
export const ShownRef = v.optional(SecretRef);

/** A secret as it is stored: sealed, or where it is found. */
export type StoredSecret = Sealed | Readonly<SecretRef>;

import * as v from 'valibot';
import type { ScalarType as SqlType } from '#core/lib/sql/result.ts';
import { integerBetween, textBetween } from '../fields.ts';

const SCALAR_TYPES = [
  'string',
  'integer',
  'number',
  'boolean',
  'date',
  'datetime',
  'uuid',
  'json',
  'bytes',
] as const satisfies readonly SqlType[];
export const ScalarType = v.picklist(SCALAR_TYPES);
export type ScalarType = v.InferOutput<typeof ScalarType>;
export const ParameterType = v.picklist([...ScalarType.options, 'array']);
export type ParameterType = v.InferOutput<typeof ParameterType>;

/** Sources for values that the model does not send. */
export const SOURCE_NAMES = [
  'caller.sub',
  'caller.name',
  'caller.email',
  'caller.client_id',
  'caller.groups',
  'caller.token',
] as const;
export const CALL_SOURCES = ['call.time', 'call.id'] as const;
const SOURCE =
  /^(?:caller\.(?:sub|name|email|client_id|groups|token)|caller\.claims\.\S{1,200}|vars\.[A-Za-z_]\w{0,63}|call\.(?:time|id))$/;
const SOURCES = `must be one of ${[...SOURCE_NAMES, ...CALL_SOURCES].join(', ')}, caller.claims.<name> or vars.<name>`;
/** Schemas omit the pattern, because the description is easier to read. */
export const ValueSource = v.pipe(
  v.string(),
  v.maxLength(220),
  v.check((text) => SOURCE.test(text), SOURCES),
);

const MOST_EXAMPLES = 10;

/** A parameter of a statement; its value is bound. */
export const Parameter = v.strictObject({
  name: v.pipe(
    v.string(),
    v.regex(
      /^[A-Za-z_][A-Za-z0-9_]{0,63}$/,
      'must begin with a letter or underscore and hold at most 64 letters, digits and underscores',
    ),
  ),
  type: ParameterType,
  description: v.optional(v.pipe(v.string(), v.maxLength(5_000)), ''),
  required: v.optional(v.boolean(), true),
  default: v.optional(v.unknown()),
  enum: v.optional(v.pipe(v.array(v.union([v.string(), v.number(), v.boolean()])), v.minLength(1), v.maxLength(1_000))),
  minimum: v.optional(v.number()),
  maximum: v.optional(v.number()),
  min_length: v.optional(integerBetween(0, 1_000_000)),
  max_length: v.optional(integerBetween(0, 1_000_000)),
  pattern: v.optional(textBetween(1, 1_000)),
  items: v.optional(ScalarType),
  examples: v.pipe(
    v.optional(v.pipe(v.array(v.unknown()), v.minLength(1), v.maxLength(MOST_EXAMPLES))),
    v.description('Models see it in the schema'),
  ),
  from: v.pipe(v.optional(ValueSource), v.description('Fills it: `caller.sub`, `vars.<name>` or `call.time`')),
});
export type Parameter = v.InferOutput<typeof Parameter>;

export const Parameters = v.pipe(v.array(Parameter), v.maxLength(100));

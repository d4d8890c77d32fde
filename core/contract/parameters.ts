import * as v from 'valibot';
import { integerBetween, textBetween } from './fields.ts';

export const ScalarType = v.picklist(['string', 'integer', 'number', 'boolean', 'date', 'datetime', 'uuid', 'json']);
export type ScalarType = v.InferOutput<typeof ScalarType>;
export const ParameterType = v.picklist([...ScalarType.options, 'array']);
export type ParameterType = v.InferOutput<typeof ParameterType>;

/** A bound parameter of a statement (contract section 4). */
export const Parameter = v.strictObject({
  name: v.pipe(
    v.string(),
    v.regex(
      /^[A-Za-z_][A-Za-z0-9_]{0,63}$/,
      'begins with a letter or underscore and holds at most 64 letters, digits and underscores',
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
});
export type Parameter = v.InferOutput<typeof Parameter>;

export const Parameters = v.pipe(v.array(Parameter), v.maxLength(100));

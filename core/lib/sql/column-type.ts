import type { ScalarType } from '#core/contract/definitions/parameters.ts';

const BY_TYPE: readonly (readonly [RegExp, ScalarType])[] = [
  [/^(?:bool|boolean|bit\(1\)|tinyint\(1\))/, 'boolean'],
  [/^enum|^set\b/, 'string'],
  [/uuid|uniqueidentifier/, 'uuid'],
  [/timestamp|datetime/, 'datetime'],
  [/^date/, 'date'],
  [/json/, 'json'],
  [/^interval|range$|^point/, 'string'],
  [/int|serial|^year/, 'integer'],
  [/numeric|decimal|double|float|real|^money/, 'number'],
];

/** The parameter type that fits a column, by the database's own name of its type. */
export const typeOfColumn = ({ type }: { readonly type: string }): ScalarType =>
  BY_TYPE.find(([pattern]) => pattern.test(type.toLowerCase()))?.[1] ?? 'string';

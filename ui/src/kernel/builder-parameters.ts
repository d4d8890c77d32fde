import type { Parameter, ParameterType, ScalarType } from '#core/contract/parameters.ts';
import type { TableColumn } from '#core/contract/schema.ts';

export const PARAMETER_TYPES: readonly ParameterType[] = [
  'string',
  'integer',
  'number',
  'boolean',
  'date',
  'datetime',
  'uuid',
  'json',
  'array',
];
export const ITEM_TYPES: readonly ScalarType[] = ['string', 'integer', 'number', 'boolean', 'date', 'datetime', 'uuid', 'json'];

/** The parameters with those that the statement names and that are not declared yet; what is declared is never removed. */
export function withDetected(
  declared: readonly Parameter[],
  names: readonly string[],
  /** Names that stand only in optional blocks: they need not be given. */
  optional: ReadonlySet<string> = new Set(),
): Parameter[] {
  const missing = names.filter((name) => !declared.some((parameter) => parameter.name === name));
  return [
    ...declared,
    ...missing.map((name) => ({ name, type: guessType(name), description: '', required: !optional.has(name) })),
  ];
}

/**
 * The list after the statement was edited: new names are added, and what was added by itself and touched by nobody since
 * goes again with its name, so that typing a name letter by letter leaves nothing behind.
 */
export function followStatement(
  declared: readonly Parameter[],
  names: readonly string[],
  optional: ReadonlySet<string>,
): Parameter[] {
  const kept = declared.filter((parameter) => names.includes(parameter.name) || !isUntouched(parameter));
  return withDetected(kept, names, optional);
}

const isUntouched = ({ name, type, description, required: _required, ...rest }: Parameter): boolean =>
  description === '' && type === guessType(name) && Object.values(rest).every((value) => value === undefined);

const BY_NAME: readonly (readonly [RegExp, ParameterType])[] = [
  [/^(?:limit|offset|skip|count|page|top|n|days|hours|minutes|year|month|age|quantity|qty)$/, 'integer'],
  [/(?:^|_)(?:id|no|number|num|count|year)$/, 'integer'],
  [/^(?:is|has|only|include|with)_|(?:^|_)(?:enabled|active)$/, 'boolean'],
  [/(?:_at|_time|timestamp)$/, 'datetime'],
  [/(?:^|_)(?:date|day|since|until|from|to|before|after)$|_on$/, 'date'],
  [/(?:^|_)(?:price|amount|total|rate|percent|minimum|maximum|min|max|score|weight|lat|lng|lon)$|^(?:min|max)_/, 'number'],
  [/(?:^|_)uuid$/, 'uuid'],
];

export const guessType = (name: string): ParameterType =>
  BY_NAME.find(([pattern]) => pattern.test(name.toLowerCase()))?.[1] ?? 'string';

const BY_COLUMN: readonly (readonly [RegExp, ScalarType])[] = [
  [/^(?:bool|boolean|bit\(1\)|tinyint\(1\))/, 'boolean'],
  [/uuid|uniqueidentifier/, 'uuid'],
  [/timestamp|datetime/, 'datetime'],
  [/^date/, 'date'],
  [/json/, 'json'],
  [/int|serial|^year/, 'integer'],
  [/numeric|decimal|double|float|real|money/, 'number'],
];

/** The parameter type that fits a column. */
export const typeOfColumn = ({ type }: Pick<TableColumn, 'type'>): ScalarType =>
  BY_COLUMN.find(([pattern]) => pattern.test(type.toLowerCase()))?.[1] ?? 'string';

export type Constraint = 'enum' | 'minimum' | 'maximum' | 'min_length' | 'max_length' | 'pattern';

const APPLIES: Readonly<Record<Constraint, readonly ScalarType[]>> = {
  enum: ['string', 'integer', 'number', 'boolean', 'date', 'datetime', 'uuid'],
  minimum: ['integer', 'number'],
  maximum: ['integer', 'number'],
  min_length: ['string'],
  max_length: ['string'],
  pattern: ['string'],
};

/** The rules that a parameter of this type may have; those of an array speak of its elements, but lengths are its own. */
export function constraintsOf({ type, items }: Pick<Parameter, 'type' | 'items'>): Constraint[] {
  const scalar = type === 'array' ? (items ?? 'string') : type;
  return (Object.keys(APPLIES) as Constraint[]).filter(
    (constraint) => (type === 'array' && constraint.endsWith('_length')) || APPLIES[constraint].includes(scalar),
  );
}

/** The parameter with another type: rules, elements and a default that no longer fit are dropped. */
export function withType(parameter: Parameter, type: ParameterType): Parameter {
  const { name, description, required, default: fallback } = parameter;
  const items = type === 'array' ? (parameter.items ?? 'string') : undefined;
  const allowed = constraintsOf({ type, ...(items === undefined ? {} : { items }) });
  const kept = Object.fromEntries(allowed.flatMap((constraint) => keep(parameter, constraint)));
  return {
    name,
    type,
    description,
    required,
    ...(items === undefined ? {} : { items }),
    ...(fallback !== undefined && fits(fallback, type) ? { default: fallback } : {}),
    ...kept,
  };
}

function keep(parameter: Parameter, constraint: Constraint): [Constraint, unknown][] {
  const value = parameter[constraint];
  if (value === undefined) return [];
  if (constraint === 'enum' && parameter.type !== 'array') return [];
  return [[constraint, value]];
}

const fits = (value: unknown, type: ParameterType): boolean => {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'number') return typeof value === 'number';
  if (type === 'boolean') return typeof value === 'boolean';
  if (type === 'array') return Array.isArray(value);
  return type === 'json' || typeof value === 'string';
};

/** A parameter without the fields that say nothing: what is sent. */
export function trimmed(parameter: Parameter): Parameter {
  const kept = Object.entries(parameter).filter(
    ([name, value]) => value !== undefined && value !== null && !(name === 'enum' && Array.isArray(value) && value.length === 0),
  );
  return Object.fromEntries(kept) as Parameter;
}

/** The rules of a parameter in a few words, for its line in the table. */
export function rulesInWords(parameter: Parameter): string {
  const { enum: choices, minimum, maximum, min_length, max_length, pattern } = parameter;
  const between = (least: number | undefined, most: number | undefined, unit: string) => {
    if (least !== undefined && most !== undefined) return `${least} to ${most}${unit}`;
    if (least !== undefined) return `at least ${least}${unit}`;
    return most === undefined ? '' : `at most ${most}${unit}`;
  };
  return [
    choices === undefined
      ? ''
      : `one of ${choices.slice(0, 3).join(', ')}${choices.length > 3 ? ` and ${choices.length - 3} more` : ''}`,
    between(minimum, maximum, ''),
    between(min_length, max_length, parameter.type === 'array' ? ' items' : ' characters'),
    pattern === undefined ? '' : `matches ${pattern}`,
  ]
    .filter((text) => text !== '')
    .join(' · ');
}

import type { Parameter } from '#core/contract/parameters.ts';
import { AppError, type FieldError } from '#core/errors.ts';
import type { Json } from '#core/sources/source.ts';
import { checkValue, MAX_ITEMS, type ValueCheck } from './argument-values.ts';
import { compilePattern, PatternError } from './pattern.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** The tool's input schema (JSON Schema 2020-12) with every constraint in it. */
export function inputSchema(parameters: readonly Parameter[]): JsonSchema {
  return {
    type: 'object',
    properties: Object.fromEntries(parameters.map((parameter) => [parameter.name, propertySchema(parameter)])),
    required: parameters.filter(mustBeGiven).map(({ name }) => name),
    additionalProperties: false,
  };
}

/**
 * A check of a call's arguments, built once. What was not given and has no default is absent from the result. Throws `invalid`
 * with one sentence for each faulty argument; no value is repeated in it.
 */
export function compileArguments(parameters: readonly Parameter[]): (args: unknown) => Record<string, Json | undefined> {
  const checks = parameters.map((parameter) => ({
    name: parameter.name,
    needed: mustBeGiven(parameter),
    fallback: parameter.default === undefined || parameter.default === null ? undefined : (parameter.default as Json),
    check: checkValue(parameter, parameter.pattern === undefined ? undefined : compilePattern(parameter.pattern)),
  }));
  const known = new Set(parameters.map(({ name }) => name));

  return (args) => {
    if (args !== undefined && (typeof args !== 'object' || args === null || Array.isArray(args))) {
      throw new AppError('invalid', 'The arguments must be an object.');
    }
    const given: Readonly<Record<string, unknown>> = { ...args };
    // Without a prototype, so that a parameter may have any name.
    const values: Record<string, Json | undefined> = Object.create(null);
    const errors: FieldError[] = [];
    for (const { name, needed, fallback, check } of checks) {
      const value = Object.hasOwn(given, name) ? given[name] : undefined;
      if (value === undefined || value === null) {
        if (needed) errors.push({ field: name, message: `${name} is required.` });
        else if (fallback !== undefined) values[name] = fallback;
        continue;
      }
      const found = check(value);
      if (found.ok) values[name] = found.value;
      else errors.push({ field: name, message: `${name} ${found.fault}` });
    }
    errors.push(...unknownArguments(given, known));
    if (errors.length > 0) throw new AppError('invalid', errors.map(({ message }) => message).join(' '), { errors });
    return values;
  };
}

/** Faults of the definition itself, each at `parameters.<index>.<field>`. */
export function checkParameters(parameters: readonly Parameter[]): FieldError[] {
  const seen = new Set<string>();
  return parameters.flatMap((parameter, index) => {
    const faults = definitionFaults(parameter);
    if (seen.has(parameter.name)) faults.push(['name', `${parameter.name} is declared twice.`]);
    seen.add(parameter.name);
    return faults.map(([field, message]) => ({ field: `parameters.${index}.${field}`, message }));
  });
}

/** A value is asked for when it is required and no default stands in for it. */
const mustBeGiven = ({ required, default: fallback }: Parameter): boolean =>
  required && (fallback === undefined || fallback === null);

const TYPE_SCHEMA: Readonly<Record<Parameter['type'], JsonSchema>> = {
  string: { type: 'string' },
  integer: { type: 'integer' },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
  date: { type: 'string', format: 'date' },
  datetime: { type: 'string', format: 'date-time' },
  uuid: { type: 'string', format: 'uuid' },
  json: {},
  array: { type: 'array' },
};

function propertySchema(parameter: Parameter): JsonSchema {
  const { type, description, items, default: fallback, min_length, max_length } = parameter;
  const shared = {
    ...(parameter.enum && { enum: parameter.enum }),
    ...(parameter.minimum !== undefined && { minimum: parameter.minimum }),
    ...(parameter.maximum !== undefined && { maximum: parameter.maximum }),
    ...(parameter.pattern !== undefined && { pattern: parameter.pattern }),
  };
  const about = {
    ...(description && { description }),
    ...(fallback !== undefined && fallback !== null && { default: fallback }),
  };
  if (type !== 'array') {
    const lengths = {
      ...(min_length !== undefined && { minLength: min_length }),
      ...(max_length !== undefined && { maxLength: max_length }),
    };
    return { ...TYPE_SCHEMA[type], ...about, ...shared, ...lengths };
  }
  const lengths = {
    ...(min_length !== undefined && { minItems: min_length }),
    maxItems: Math.min(max_length ?? MAX_ITEMS, MAX_ITEMS),
  };
  return { type: 'array', items: { ...TYPE_SCHEMA[items ?? 'string'], ...shared }, ...about, ...lengths };
}

/** Few are told: somebody who sends thousands of names learns from the first what is wrong. */
const SHOWN_UNKNOWN = 10;

function unknownArguments(given: Readonly<Record<string, unknown>>, known: ReadonlySet<string>): FieldError[] {
  const names = Object.keys(given).filter((name) => !known.has(name));
  return names.slice(0, SHOWN_UNKNOWN).map((name) => unknownArgument(name, known));
}

function unknownArgument(name: string, known: ReadonlySet<string>): FieldError {
  const field = name.slice(0, 64);
  if (known.size === 0) return { field, message: `There is no argument ${field}: none are taken.` };
  const near = nearest(field, known);
  const hint = near === undefined ? `Known are ${[...known].slice(0, 20).join(', ')}.` : `Did you mean ${near}?`;
  return { field, message: `There is no argument ${field}. ${hint}` };
}

/** The known name with the fewest edits, if they are few enough to be a slip. */
function nearest(name: string, known: ReadonlySet<string>): string | undefined {
  let best: string | undefined;
  let fewest = Math.max(2, Math.ceil(name.length / 3)) + 1;
  for (const candidate of known) {
    const edits = distance(name.toLowerCase(), candidate.toLowerCase());
    if (edits >= fewest) continue;
    fewest = edits;
    best = candidate;
  }
  return best;
}

/** Levenshtein's. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
}

type Constraint = 'enum' | 'minimum' | 'maximum' | 'min_length' | 'max_length' | 'pattern';

/** Types that each constraint speaks of; of an array it speaks of the elements, but lengths are the array's own. */
const APPLIES: Readonly<Record<Constraint, readonly Parameter['type'][]>> = {
  enum: ['string', 'integer', 'number', 'boolean', 'date', 'datetime', 'uuid'],
  minimum: ['integer', 'number'],
  maximum: ['integer', 'number'],
  min_length: ['string'],
  max_length: ['string'],
  pattern: ['string'],
};

function definitionFaults(parameter: Parameter): [string, string][] {
  const { name, type, items, minimum, maximum, min_length, max_length, pattern } = parameter;
  const faults: [string, string][] = [];
  if (type === 'array' && items === undefined)
    faults.push(['items', `${name} is an array and needs items, the type of its elements.`]);
  if (type !== 'array' && items !== undefined) faults.push(['items', `${name} is no array and cannot have items.`]);
  for (const [constraint, types] of Object.entries(APPLIES) as [Constraint, readonly Parameter['type'][]][]) {
    const ofArray = type === 'array' && constraint.endsWith('_length');
    if (parameter[constraint] === undefined || ofArray || types.includes(type === 'array' ? (items ?? 'string') : type)) continue;
    faults.push([constraint, `${constraint} does not apply to ${name}, which is of type ${type}.`]);
  }
  if (minimum !== undefined && maximum !== undefined && minimum > maximum)
    faults.push(['minimum', `${name}: minimum is above maximum.`]);
  if (min_length !== undefined && max_length !== undefined && min_length > max_length) {
    faults.push(['min_length', `${name}: min_length is above max_length.`]);
  }
  const matcher = pattern === undefined ? undefined : patternOrFault(pattern);
  if (typeof matcher === 'string') faults.push(['pattern', `${name}: pattern ${matcher}`]);
  if (faults.length > 0) return faults;

  const matches = typeof matcher === 'function' ? matcher : undefined;
  const { enum: choices, ...free } = parameter;
  const one = checkValue(type === 'array' ? { ...free, type: items ?? 'string' } : free, undefined);
  const wrong = choices?.findIndex((choice) => !one(choice).ok) ?? -1;
  if (wrong >= 0) faults.push(['enum', `${name}: entry ${wrong + 1} of enum is not a valid ${type === 'array' ? items : type}.`]);
  const fallback = defaultFault(parameter, checkValue(parameter, matches));
  if (fallback !== undefined) faults.push(['default', `${name}: default ${fallback}`]);
  return faults;
}

function defaultFault({ default: fallback }: Parameter, check: ValueCheck): string | undefined {
  if (fallback === undefined || fallback === null) return undefined;
  const found = check(fallback);
  return found.ok ? undefined : found.fault;
}

function patternOrFault(pattern: string): ((text: string) => boolean) | string {
  try {
    return compilePattern(pattern);
  } catch (error) {
    if (error instanceof PatternError) return error.message;
    throw error;
  }
}

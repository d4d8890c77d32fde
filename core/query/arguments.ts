import type { Parameter } from '#core/contract/definitions/parameters.ts';
import { AppError, type FieldError, misspelt } from '#core/errors.ts';
import type { Json } from '#core/lib/sql/result.ts';
import { checkValue, MAX_ITEMS, type ValueCheck } from './argument-values.ts';
import { DATETIME_FORM } from '#core/lib/text/datetime-form.ts';
import { sourceFaults } from './value-sources.ts';
import { decide, type Undecided, Work } from './argument-work.ts';
import { namedOf, undeclaredFaults, undeclaredIn } from '#core/lib/text/undeclared-arguments.ts';
import { compilePattern, type Pattern, PatternError } from '#core/lib/pattern/pattern.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** The input schema of a tool (JSON Schema 2020-12) with all constraints. Parameters that Sluice fills are not part of it. */
export function inputSchema(declared: readonly Parameter[]): JsonSchema {
  const parameters = declared.filter(isSent);
  return {
    type: 'object',
    properties: Object.fromEntries(inOrder(parameters).map((parameter) => [parameter.name, propertySchema(parameter)])),
    required: parameters.filter(mustBeGiven).map(({ name }) => name),
    additionalProperties: false,
  };
}

/** Declaration order with required parameters first, because clients derive function signatures from it. */
const inOrder = (parameters: readonly Parameter[]): Parameter[] => [
  ...parameters.filter(mustBeGiven),
  ...parameters.filter((parameter) => !mustBeGiven(parameter)),
];

/** Restores the parameter order of a stored tool, whose input properties are sorted alphabetically. */
export function listingInOrder({
  listing,
  parameters,
}: {
  readonly listing: JsonSchema;
  readonly parameters: readonly Parameter[];
}): JsonSchema {
  const { inputSchema: input } = listing;
  if (typeof input !== 'object' || input === null || !('properties' in input)) return listing;
  const stored = new Map(Object.entries(input.properties ?? {}));
  const ordered = inOrder(parameters).flatMap(({ name }) => (stored.has(name) ? [[name, stored.get(name)] as const] : []));
  return { ...listing, inputSchema: { ...input, properties: Object.fromEntries([...ordered, ...stored]) } };
}

/** Whether the model sends this parameter; all others have a source. */
export const isSent = ({ from }: Pick<Parameter, 'from'>): boolean => from === undefined;

/** Undeclared arguments of one call. */
export interface UndeclaredRecord {
  /** Whether undeclared arguments are refused for read tools too. */
  readonly refuses_undeclared: boolean;
  /** Number of undeclared arguments. */
  undeclared: number;
  /** Names of the first undeclared arguments, if the call runs without them. */
  ignored: readonly string[];
}

/** Checked argument values by parameter name. */
export type ArgumentValues = Record<string, Json | undefined>;

/**
 * Builds the check for the arguments of a call. The result omits missing arguments without a default, and undeclared ones, which
 * go to `record`. Throws `invalid` with one sentence per faulty argument, without its value. Returns a promise only if pattern
 * checks would block other calls.
 * @param refuses_undeclared true for write tools: ignoring an argument such as `dry_run` would run the write that it should
 * prevent.
 */
export function compileArguments(
  parameters: readonly Parameter[],
  refuses_undeclared = false,
): (args: unknown, record?: UndeclaredRecord) => ArgumentValues | Promise<ArgumentValues> {
  const checks = parameters.map((parameter) => ({
    name: parameter.name,
    needed: mustBeGiven(parameter),
    fallback: parameter.default === undefined || parameter.default === null ? undefined : (parameter.default as Json),
    check: checkValue(parameter, parameter.pattern === undefined ? undefined : compilePattern(parameter.pattern)),
  }));
  const declared = parameters.map(({ name }) => name);
  const known = new Set(declared);

  return (args, record) => {
    if (args !== undefined && (typeof args !== 'object' || args === null || Array.isArray(args))) {
      throw new AppError('invalid', 'The arguments must be an object.');
    }
    const given: Readonly<Record<string, unknown>> = { ...args };
    // No prototype, so that a parameter can have any name.
    const values: ArgumentValues = Object.create(null);
    const errors: FieldError[] = [];
    const missing: string[] = [];
    const undecided: UndecidedArgument[] = [];
    const work = new Work();
    for (const { name, needed, fallback, check } of checks) {
      const value = Object.hasOwn(given, name) ? given[name] : undefined;
      if (value === undefined || value === null) {
        missing.push(name);
        if (needed) errors.push({ field: name, message: `${name} is required.` });
        else if (fallback !== undefined) values[name] = fallback;
        continue;
      }
      const found = check(value, work);
      if (!found.ok) errors.push({ field: name, message: `${name} ${found.fault}` });
      else values[name] = found.value;
      if (found.ok && found.undecided) for (const one of found.undecided) undecided.push({ ...one, field: name });
    }
    const undeclared = undeclaredIn(given, known);
    if (undeclared.length > 0) {
      const refuses = refuses_undeclared || record?.refuses_undeclared === true;
      errors.push(...(refuses ? undeclaredFaults(undeclared, declared) : misspelt(undeclared, missing)));
      if (record !== undefined) record.undeclared = undeclared.length;
    }
    if (errors.length > 0) throw refusal(errors);
    if (record !== undefined && undeclared.length > 0) record.ignored = namedOf(undeclared);
    return undecided.length === 0 ? values : decided(undecided, values);
  };
}

interface UndecidedArgument extends Undecided {
  readonly field: string;
}

async function decided(undecided: readonly UndecidedArgument[], values: ArgumentValues): Promise<ArgumentValues> {
  const wrong = await decide(undecided);
  if (wrong === null) return values;
  const { field } = wrong.one;
  throw refusal([{ field, message: `${field} ${wrong.fault}` }]);
}

const refusal = (errors: readonly FieldError[]): AppError =>
  new AppError('invalid', errors.map(({ message }) => message).join(' '), { errors });

/** Returns the faults of the declarations, each at `parameters.<index>.<field>`. */
export function checkParameters(parameters: readonly Parameter[]): FieldError[] {
  const seen = new Set<string>();
  return parameters.flatMap((parameter, index) => {
    const faults = definitionFaults(parameter);
    if (seen.has(parameter.name)) faults.push(['name', `${parameter.name} is declared twice.`]);
    seen.add(parameter.name);
    return faults.map(([field, message]) => ({ field: `parameters.${index}.${field}`, message }));
  });
}

/** A value is required when the parameter is required and has no default. */
export const mustBeGiven = ({ required, default: fallback }: Parameter): boolean =>
  required && (fallback === undefined || fallback === null);

/** One branch per type, because models send JSON as a string without them. VS Code rejects an array without `items`. */
const ANY_JSON: JsonSchema = {
  anyOf: [
    { type: 'object' },
    { type: 'array', items: {} },
    { type: 'string' },
    { type: 'number' },
    { type: 'boolean' },
    { type: 'null' },
  ],
};
const TYPE_SCHEMA: Readonly<Record<Parameter['type'], JsonSchema>> = {
  string: { type: 'string' },
  integer: { type: 'integer' },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
  date: { type: 'string', format: 'date' },
  // The format `date-time` excludes dates and local times, so clients would refuse them.
  datetime: { type: 'string' },
  uuid: { type: 'string', format: 'uuid' },
  json: ANY_JSON,
  bytes: { type: 'string', contentEncoding: 'base64' },
  array: { type: 'array' },
};

/** Expected forms for the description: some clients drop `format` from the schema that a model reads. */
const FORM: Partial<Readonly<Record<Parameter['type'], string>>> = {
  date: 'YYYY-MM-DD',
  datetime: DATETIME_FORM,
  uuid: 'UUID',
  bytes: 'base64',
};

function withForm(description: string, type: Parameter['type']): string {
  const form = FORM[type];
  if (form === undefined || description.includes(form)) return description;
  return description === '' ? form : `${description} (${form})`;
}

function propertySchema(parameter: Parameter): JsonSchema {
  const { type, items = 'string', default: fallback, min_length, max_length } = parameter;
  const description = withForm(parameter.description, type === 'array' ? items : type);
  const shared = {
    ...(parameter.enum && { enum: parameter.enum }),
    ...(parameter.minimum !== undefined && { minimum: parameter.minimum }),
    ...(parameter.maximum !== undefined && { maximum: parameter.maximum }),
    ...(parameter.pattern !== undefined && { pattern: parameter.pattern }),
  };
  const about = {
    ...(description && { description }),
    ...(fallback !== undefined && fallback !== null && { default: fallback }),
    ...(parameter.examples && { examples: parameter.examples }),
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
  return { type: 'array', items: { ...TYPE_SCHEMA[items], ...shared }, ...about, ...lengths };
}

type Constraint = 'enum' | 'minimum' | 'maximum' | 'min_length' | 'max_length' | 'pattern';

/** Types that each constraint applies to. For an array it applies to the elements, except for lengths. */
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
  const faults: [string, string][] = sourceFaults(parameter);
  if (type === 'array' && items === undefined)
    faults.push(['items', `${name} is an array and needs items, the type of its elements.`]);
  if (items === 'bytes')
    faults.push(['items', `${name} cannot be a list of bytes. Declare items as string and decode each in the statement.`]);
  if (type !== 'array' && items !== undefined) faults.push(['items', `${name} is not an array and cannot have items.`]);
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
  if (typeof matcher === 'string') return [...faults, ['pattern', `${name}: pattern ${matcher}`]];
  if (faults.length > 0) return faults;

  const { enum: choices, ...free } = parameter;
  const one = checkValue(type === 'array' ? { ...free, type: items ?? 'string' } : free, undefined);
  const wrong = choices?.findIndex((choice) => !one(choice, new Work()).ok) ?? -1;
  if (wrong >= 0) faults.push(['enum', `${name}: entry ${wrong + 1} of enum is not a valid ${type === 'array' ? items : type}.`]);
  const check = checkValue(parameter, matcher);
  const fallback = shownValueFault(parameter.default, check);
  if (fallback !== undefined) faults.push(['default', `${name}: default ${fallback}`]);
  for (const [n, example] of (parameter.examples ?? []).entries()) {
    const fault = example === null ? 'must not be null.' : shownValueFault(example, check);
    if (fault !== undefined) faults.push(['examples', `${name}: example ${n + 1} ${fault}`]);
  }
  return faults;
}

/** Why a call would refuse a value that the schema shows to models. */
function shownValueFault(value: unknown, check: ValueCheck): string | undefined {
  if (value === undefined || value === null) return undefined;
  const found = check(value, new Work());
  if (!found.ok) return found.fault;
  return found.undecided === undefined ? undefined : 'takes too long to check against the pattern.';
}

function patternOrFault(pattern: string): Pattern | string {
  try {
    return compilePattern(pattern);
  } catch (error) {
    if (error instanceof PatternError) return error.message;
    throw error;
  }
}

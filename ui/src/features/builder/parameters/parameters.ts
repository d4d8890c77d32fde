import type { Parameter, ParameterType, ScalarType } from '#core/contract/definitions/parameters.ts';
import type { Suggestion } from '#core/contract/definitions/preview.ts';
import { same } from '#ui/src/kernel/form/merge.ts';

export const PARAMETER_TYPES: readonly ParameterType[] = [
  'string',
  'integer',
  'number',
  'boolean',
  'date',
  'datetime',
  'uuid',
  'json',
  'bytes',
  'array',
];
export const ITEM_TYPES: readonly ScalarType[] = ['string', 'integer', 'number', 'boolean', 'date', 'datetime', 'uuid', 'json'];

/** A list that keeps up with a text: what nobody touched since it was added or suggested may change, everything else stays. */
interface FollowedParameters {
  /**
   * The list after the text was edited: new names are added, and what was added and touched by nobody goes with its name, so that
   * typing a name letter by letter leaves nothing behind.
   * @param optional names that need not be given.
   */
  follow(declared: readonly Parameter[], names: readonly string[], optional?: ReadonlySet<string>): Parameter[];
  /** The list with what the database says of those that nobody touched. */
  suggest(declared: readonly Parameter[], suggestions: readonly Suggestion[]): Parameter[];
}

/** @param begun what a new record began with: nobody touched it either, and whoever made it knew more than the statement says. */
export function followParameters(begun: readonly Parameter[] = []): FollowedParameters {
  const own = new Map(begun.map((parameter) => [parameter.name, trimmed(parameter)]));
  const knowing = new Set(own.keys());
  const add = (parameter: Parameter): Parameter => {
    own.set(parameter.name, parameter);
    knowing.delete(parameter.name);
    return parameter;
  };
  const isUntouched = (parameter: Parameter): boolean => {
    const known = own.get(parameter.name);
    return known !== undefined && same({ ...known, required: true }, { ...trimmed(parameter), required: true });
  };
  return {
    follow(declared, names, optional = new Set()) {
      const kept = declared.filter((parameter) => names.includes(parameter.name) || !isUntouched(parameter));
      const missing = names.filter((name) => !kept.some((parameter) => parameter.name === name));
      return [...kept, ...missing.map((name) => add({ name, type: 'string', description: '', required: !optional.has(name) }))];
    },
    suggest: (declared, suggestions) =>
      declared.map((parameter) => {
        const suggestion = suggestions.find(({ name }) => name === parameter.name);
        if (suggestion === undefined || knowing.has(parameter.name) || !isUntouched(parameter)) return parameter;
        const next = { ...withSuggestion(parameter, suggestion), description: parameter.description };
        return same(next, parameter) ? parameter : add(next);
      }),
  };
}

/** The parameter as the database suggests it: rules that a person wrote stay where they still apply. */
export function withSuggestion(parameter: Parameter, { type, items, enum: choices, description }: Suggestion): Parameter {
  const typed = parameter.type === type && parameter.items === items ? parameter : withType(parameter, type);
  return {
    ...typed,
    ...(items === undefined ? {} : { items }),
    ...(choices === undefined ? {} : { enum: choices }),
    description: parameter.description === '' ? description : parameter.description,
  };
}

/** What the database says that the parameter does not, in a few words; empty: nothing. */
export function suggestionInWords(parameter: Parameter, suggestion: Suggestion): string {
  if (same(trimmed(withSuggestion(parameter, suggestion)), trimmed(parameter))) return '';
  const { type, items, enum: choices, description } = suggestion;
  return [
    items === undefined ? type : `${type} of ${items}`,
    choices === undefined ? '' : rulesInWords({ ...parameter, enum: choices }),
    parameter.description === '' && description !== '' ? `“${description}”` : '',
  ]
    .filter((part) => part !== '')
    .join(' · ');
}

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
  const { name, description, required, from, default: fallback } = parameter;
  if (from !== undefined)
    return { name, type, description, required, from, ...(type === 'array' ? { items: parameter.items ?? 'string' } : {}) };
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

const LISTS: readonly string[] = ['enum', 'examples'];

/** A parameter without the fields that say nothing: what is sent. */
export function trimmed(parameter: Parameter): Parameter {
  const kept = Object.entries(parameter).filter(
    ([name, value]) =>
      value !== undefined && value !== null && !(LISTS.includes(name) && Array.isArray(value) && value.length === 0),
  );
  return Object.fromEntries(kept) as Parameter;
}

/** The rules of a parameter in a few words, for its line in the table. */
export function rulesInWords(parameter: Parameter): string {
  const { enum: choices, minimum, maximum, min_length, max_length, pattern, examples } = parameter;
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
    examples === undefined ? '' : `such as ${JSON.stringify(examples[0])}`,
  ]
    .filter((text) => text !== '')
    .join(' · ');
}

/** Who fills a parameter, as its row offers it. */
export const FILLED_BY = [
  { value: '', label: 'The model' },
  { value: 'caller.sub', label: 'The caller: ID' },
  { value: 'caller.name', label: 'The caller: name' },
  { value: 'caller.email', label: 'The caller: email' },
  { value: 'caller.groups', label: 'The caller: groups' },
  { value: 'caller.client_id', label: 'The caller: client ID' },
  { value: 'caller.token', label: 'The caller: name of the token' },
  { value: 'caller.claims.', label: 'The caller: a claim' },
  { value: 'vars.', label: 'A fixed value: a global variable' },
  { value: 'call.time', label: 'The call: its time' },
  { value: 'call.id', label: 'The call: its ID' },
] as const;
export type FilledBy = (typeof FILLED_BY)[number]['value'];

/** The choice that a source belongs to; a claim and a variable have a name behind it. */
export const filledBy = (from: string | undefined): FilledBy =>
  FILLED_BY.find(({ value }) => value === from || (value.endsWith('.') && from?.startsWith(value) === true))?.value ?? '';

/** Sluice fills it; the model neither sees nor sends it. */
export const isFilled = ({ from }: Pick<Parameter, 'from'>): boolean => from !== undefined;

const TYPE_OF: Partial<Readonly<Record<FilledBy, ParameterType>>> = { 'caller.groups': 'array', 'call.time': 'datetime' };

/** The parameter with another source: what only a model can be held to goes, and a list stays a list. */
export function withSource(parameter: Parameter, from: string): Parameter {
  const { name, description, required, type, items } = parameter;
  if (from === '') return { name, type, description, required, ...(items === undefined ? {} : { items }) };
  const source = filledBy(from);
  const wanted = TYPE_OF[source] ?? (source.endsWith('.') || type !== 'array' ? type : 'string');
  return {
    name,
    type: wanted,
    description,
    required,
    from,
    ...(wanted === 'array' ? { items: items ?? 'string' } : {}),
  };
}

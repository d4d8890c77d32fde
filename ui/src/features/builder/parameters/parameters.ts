import { type Parameter, ParameterType, type ScalarType } from '#core/contract/definitions/parameters.ts';
import type { Suggestion } from '#core/contract/definitions/preview.ts';
import { same } from '#ui/src/kernel/form/merge.ts';

export const PARAMETER_TYPES = ParameterType.options;
export const ITEM_TYPES: readonly ScalarType[] = ['string', 'integer', 'number', 'boolean', 'date', 'datetime', 'uuid', 'json'];

/** Parameters that follow a text: unedited ones may change, edited ones stay. */
interface FollowedParameters {
  /**
   * The list after an edit of the text: new names are added, and added parameters without edits are removed with their name, so that
   * typing a name leaves no partial names.
   * @param optional names that are not required.
   */
  follow(declared: readonly Parameter[], names: readonly string[], optional?: ReadonlySet<string>): Parameter[];
  /** The list with the database's suggestions for unedited parameters. */
  suggest(declared: readonly Parameter[], suggestions: readonly Suggestion[]): Parameter[];
}

/** @param begun initial parameters of a new record: they count as unedited, but suggestions do not replace them. */
export function followParameters(begun: readonly Parameter[] = []): FollowedParameters {
  const added = new Map(begun.map((parameter) => [parameter.name, trimmed(parameter)]));
  const knowing = new Set(added.keys());
  const add = (parameter: Parameter): Parameter => {
    added.set(parameter.name, parameter);
    knowing.delete(parameter.name);
    return parameter;
  };
  const isUntouched = (parameter: Parameter): boolean => {
    const known = added.get(parameter.name);
    return known !== undefined && same({ ...known, required: true }, { ...trimmed(parameter), required: true });
  };
  return {
    follow(declared, names, optional = new Set()) {
      const remaining = declared.filter((parameter) => names.includes(parameter.name) || !isUntouched(parameter));
      const missing = names.filter((name) => !remaining.some((parameter) => parameter.name === name));
      return [
        ...remaining,
        ...missing.map((name) => add({ name, type: 'string', description: '', required: !optional.has(name) })),
      ];
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

/** The parameter with the suggested type: rules that a person wrote stay where they still apply. */
export function withSuggestion(parameter: Parameter, { type, items, enum: choices, description }: Suggestion): Parameter {
  const typed = parameter.type === type && parameter.items === items ? parameter : withType(parameter, type);
  return {
    ...typed,
    ...(items === undefined ? {} : { items }),
    ...(choices === undefined ? {} : { enum: choices }),
    description: parameter.description === '' ? description : parameter.description,
  };
}

/** The difference between suggestion and parameter in a few words; empty: none. A day is a fitting value for a column of times. */
export function suggestionInWords(parameter: Parameter, found: Suggestion): string {
  const suggestion = parameter.type === 'date' && found.type === 'datetime' ? { ...found, type: parameter.type } : found;
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

/** The rules for a type. Those of an array apply to its elements, except the lengths, which apply to the array. */
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
  const remaining = Object.fromEntries(allowed.flatMap((constraint) => keep(parameter, constraint)));
  return {
    name,
    type,
    description,
    required,
    ...(items === undefined ? {} : { items }),
    ...(fallback !== undefined && fits(fallback, type) ? { default: fallback } : {}),
    ...remaining,
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

/** The parameter as sent, without empty fields. */
export function trimmed(parameter: Parameter): Parameter {
  const remaining = Object.entries(parameter).filter(
    ([name, value]) =>
      value !== undefined && value !== null && !(LISTS.includes(name) && Array.isArray(value) && value.length === 0),
  );
  return Object.fromEntries(remaining) as Parameter;
}

/** The rules of a parameter in a few words, for its row. */
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

/** Sources of a parameter's value. */
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

/** The option of a source; a claim and a variable are followed by a name. */
export const filledBy = (from: string | undefined): FilledBy =>
  FILLED_BY.find(({ value }) => value === from || (value.endsWith('.') && from?.startsWith(value) === true))?.value ?? '';

/** Sluice fills it; the model neither sees nor sends it. */
export const isFilled = ({ from }: Pick<Parameter, 'from'>): boolean => from !== undefined;

const TYPE_OF: Partial<Readonly<Record<FilledBy, ParameterType>>> = { 'caller.groups': 'array', 'call.time': 'datetime' };

/** The parameter with another source: rules that only apply to models are dropped, and a list stays a list. */
export function withSource(parameter: Parameter, from: string): Parameter {
  const { name, description, required, type, items } = parameter;
  if (from === '') return { name, type, description, required, ...(items === undefined ? {} : { items }) };
  const source = filledBy(from);
  const next_type = TYPE_OF[source] ?? (source.endsWith('.') || type !== 'array' ? type : 'string');
  return {
    name,
    type: next_type,
    description,
    required,
    from,
    ...(next_type === 'array' ? { items: items ?? 'string' } : {}),
  };
}

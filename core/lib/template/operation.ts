import { type Budget, fault } from './budget.ts';
import { isNone, isNumeric, kindOf, numberOf, textOf } from './values.ts';

/** A filter, a test or a method, and the names of its arguments. */
export interface Operation {
  /** Names of the arguments in order; each can be given by position or by name. */
  readonly params: readonly string[];
  /** Names of further arguments that can only be given by name, after `params`. */
  readonly named?: readonly string[];
  /** Whether any number of positional arguments may follow those in `named`. */
  readonly rest?: boolean;
  readonly run: (budget: Budget, value: unknown, args: readonly unknown[]) => unknown;
}

/** Assigns positional values to the arguments of the operation. Arguments that are only given by name stay empty. */
export function arranged<Value>({ params, named = [], rest = false }: Operation, given: readonly Value[]): (Value | undefined)[] {
  const places = params.length;
  if (!rest && given.length > places)
    throw fault(`Too many arguments were given: at most ${places} ${places === 1 ? 'is' : 'are'} taken.`);
  return [
    ...Array.from({ length: places }, (_, index) => given[index]),
    ...named.map(() => undefined),
    ...(rest ? given.slice(places) : []),
  ];
}

export type Operations = ReadonlyMap<string, Operation>;

export const operations = (table: Readonly<Record<string, Operation>>): Operations => new Map(Object.entries(table));

/** An operation on the text of a value. */
export const onText = (
  params: readonly string[],
  run: (text: string, args: readonly unknown[], budget: Budget) => unknown,
): Operation => ({
  params,
  run(budget, value, args) {
    const text = textOf(budget, value);
    budget.text(text.length);
    return run(text, args, budget);
  },
});

/** An argument as an integer, or `otherwise` when it is missing. */
export function whole(value: unknown, otherwise: number, name: string, minimum: number, maximum: number): number {
  if (isNone(value)) return otherwise;
  const number = isNumeric(value) ? numberOf(value) : Number.NaN;
  if (Number.isInteger(number) && number >= minimum && number <= maximum) return number;
  throw fault(`"${name}" must be a whole number from ${minimum} to ${maximum}.`);
}

/** An argument as a short text, or `otherwise` when it is missing. */
export function word(value: unknown, otherwise: string, name: string): string {
  if (isNone(value)) return otherwise;
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  throw fault(`"${name}" must be a text, not ${kindOf(value)}.`);
}

export function oneOf<const Choice extends string>(value: unknown, choices: readonly Choice[], name: string): Choice {
  const choice = choices.find((choice) => choice === (value ?? choices[0]));
  if (choice === undefined) throw fault(`"${name}" must be one of ${choices.join(', ')}.`);
  return choice;
}

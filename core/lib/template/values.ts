import { type Budget, fault } from './budget.ts';
import { characterAt, lengthOf } from './characters.ts';
import { isNumberText } from './numbers/decimal.ts';

/** Marks the only kind of object that a template can change. Keys in templates are texts, so none can access this one. */
const NAMESPACE = Symbol('namespace');
const MAX_NESTING = 100;
/** Keys that are never read or written, on any object. */
const DENIED: ReadonlySet<unknown> = new Set(['__proto__', 'constructor', 'prototype']);

export type Dict = Record<string, unknown>;

export const isDenied = (key: unknown): boolean => DENIED.has(key);
export const isNone = (value: unknown): value is null | undefined => value === null || value === undefined;
export const isMapping = (value: unknown): value is Dict => typeof value === 'object' && value !== null && !Array.isArray(value);
export const isNamespace = (value: unknown): value is Dict => isMapping(value) && NAMESPACE in value;

export const emptyDict = (): Dict => Object.create(null) as Dict;

export function createNamespace(): Dict {
  const namespace = emptyDict();
  Object.defineProperty(namespace, NAMESPACE, { value: true });
  return namespace;
}

/** Sets a key of an object that the template created. */
export function put(dict: Dict, key: string, value: unknown): void {
  if (isDenied(key)) throw fault('A key must not be named __proto__, constructor or prototype.');
  dict[key] = value;
}

/** Only data enters an evaluation: functions and symbols count as missing. */
export function data(value: unknown): unknown {
  const type = typeof value;
  if (type === 'function' || type === 'symbol') return undefined;
  return type === 'bigint' ? String(value) : value;
}

/**
 * A property of the object itself, a list item (negative from the end), a character, or `length`. Undefined for anything else.
 */
export function get(budget: Budget, target: unknown, key: unknown): unknown {
  if (typeof target === 'string' || Array.isArray(target)) {
    const is_text = typeof target === 'string';
    if (key === 'length') return is_text ? lengthOf(budget, target) : target.length;
    if (typeof key !== 'number' || !Number.isInteger(key)) return undefined;
    return is_text ? characterAt(budget, target, key) : data(target[key < 0 ? target.length + key : key]);
  }
  if (typeof target !== 'object' || target === null) return undefined;
  const name = typeof key === 'number' ? String(key) : key;
  if (typeof name !== 'string' || DENIED.has(name) || !Object.hasOwn(target, name)) return undefined;
  return data((target as Dict)[name]);
}

/** Keys and values of the object itself, without the denied ones. */
export function entriesOf(budget: Budget, mapping: Dict): [string, unknown][] {
  const keys = Object.keys(mapping);
  budget.items(keys.length);
  return keys.filter((key) => !DENIED.has(key)).map((key) => [key, data(mapping[key])]);
}

/** The items of a loop or list filter: list items, keys of an object, characters of a text. Empty for none. */
export function itemsOf(budget: Budget, value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (isNone(value)) return [];
  if (typeof value === 'string') {
    budget.items(value.length);
    return Array.from(value);
  }
  if (isMapping(value)) return entriesOf(budget, value).map(([key]) => key);
  throw fault(`A ${typeof value} cannot be looped over; a list, an object or a text is needed.`);
}

/** Reads a path such as `a.b.0`, for `attribute=` of list filters. */
export function createGetter(budget: Budget, attribute: unknown): (item: unknown) => unknown {
  if (typeof attribute === 'number') return (item) => get(budget, item, attribute);
  if (typeof attribute !== 'string' || attribute.length > 200) throw fault('An attribute is given as its name, such as "total".');
  if (!attribute.includes('.')) return (item) => get(budget, item, attribute);
  const path = attribute.split('.').map((part) => (/^\d{1,6}$/.test(part) ? Number(part) : part));
  return (item) => {
    // The name of a column may contain a dot.
    const whole = get(budget, item, attribute);
    return whole === undefined ? path.reduce<unknown>((value, key) => get(budget, value, key), item) : whole;
  };
}

export function isTruthy(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return Boolean(value);
  return Array.isArray(value) ? value.length > 0 : Object.keys(value).length > 0;
}

/** The output of a value: empty for none, JSON for lists and objects. */
export function textOf(budget: Budget, value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'object' && value !== null ? toJson(budget, value) : '';
}

/** Compact JSON, or indented by `indent` spaces. None is null. */
export function toJson(budget: Budget, value: unknown, indent = 0): string {
  budget.text(weigh(budget, value, indent, 0));
  const json = JSON.stringify(value ?? null, null, indent);
  budget.text(json.length);
  return json;
}

/** Measures the whole value before it is written, because shared parts can expand to a very long text. */
function weigh(budget: Budget, value: unknown, indent: number, depth: number): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint') {
    throw fault('Only data can be printed.');
  }
  if (typeof value !== 'object' || value === null) return 5;
  if (depth > MAX_NESTING) throw fault(`A value is nested more than ${MAX_NESTING} levels deep.`);
  if (isNamespace(value)) throw fault('A namespace cannot be printed; print its attributes.');
  const line = 1 + indent * (depth + 1);
  let length = 2 + line;
  const add = (item: unknown, key_length: number) => {
    length += key_length + line + weigh(budget, item, indent, depth + 1);
    if (length > budget.limits.output) budget.text(length);
  };
  if (Array.isArray(value)) {
    budget.step(value.length);
    for (const item of value) add(item, 0);
    return length;
  }
  const keys = Object.keys(value);
  budget.step(keys.length);
  for (const key of keys) add((value as Dict)[key], key.length + 3);
  return length;
}

/** A number for arithmetic. Texts of decimals and large integers are converted. */
export function numberOf(value: unknown): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  const number = typeof value === 'string' && isNumberText(value) ? Number(value) : Number.NaN;
  if (!Number.isFinite(number)) throw fault(`A number is needed here, not ${kindOf(value)}.`);
  return number;
}

export const isNumeric = (value: unknown): boolean =>
  typeof value === 'number' || (typeof value === 'string' && isNumberText(value));

export function kindOf(value: unknown): string {
  if (isNone(value)) return 'none';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : typeof value === 'string' ? 'a text' : `a ${typeof value}`;
}

/** Compares contents, as in Jinja2: a text never equals a number, true equals 1, and none equals a missing value. */
export function isEqual(budget: Budget, a: unknown, b: unknown, depth = 0): boolean {
  budget.step(1);
  if (a === b && typeof a !== 'string') return true;
  if (isNone(a) || isNone(b)) return isNone(a) && isNone(b);
  if (typeof a === 'string' || typeof b === 'string') {
    if (typeof a !== 'string' || typeof b !== 'string' || a.length !== b.length) return false;
    budget.step(a.length / 8);
    return a === b;
  }
  if (typeof a !== 'object' || typeof b !== 'object')
    return typeof a !== 'object' && typeof b !== 'object' && Number(a) === Number(b);
  if (isNamespace(a) || isNamespace(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  if (depth > MAX_NESTING) throw fault(`A value is nested more than ${MAX_NESTING} levels deep.`);
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  budget.step(keys.length);
  return keys.every((key) => Object.hasOwn(b, key) && isEqual(budget, (a as Dict)[key], (b as Dict)[key], depth + 1));
}

/** The order for `<` and `>`: numbers (also texts with numbers), texts, lists. Null when the values cannot be compared. */
export function compare(budget: Budget, a: unknown, b: unknown): number | null {
  if (isNone(a) || isNone(b)) return null;
  if (typeof a === 'string' && typeof b === 'string') return order(budget, a, b);
  if (typeof a !== 'object' && typeof b !== 'object') return order(budget, numberOf(a), numberOf(b));
  if (Array.isArray(a) && Array.isArray(b)) return order(budget, a, b);
  throw fault(`${kindOf(a)} and ${kindOf(b)} have no order.`.replace(/^a/, 'A'));
}

/** A total order for sorting: numbers, texts, lists, objects, and none last. */
export function order(budget: Budget, a: unknown, b: unknown): number {
  budget.step(1);
  const difference = rank(a) - rank(b);
  if (difference !== 0) return difference;
  if (typeof a === 'string' && typeof b === 'string') {
    budget.step(Math.min(a.length, b.length) / 8);
    return a < b ? -1 : a > b ? 1 : 0;
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    for (let index = 0; index < a.length && index < b.length; index++) {
      const result = order(budget, a[index], b[index]);
      if (result !== 0) return result;
    }
    return a.length - b.length;
  }
  return rank(a) === 0 ? Number(a) - Number(b) : 0;
}

function rank(value: unknown): number {
  if (typeof value === 'number' || typeof value === 'boolean') return 0;
  if (typeof value === 'string') return 1;
  if (Array.isArray(value)) return 2;
  return isNone(value) ? 4 : 3;
}

/** Whether `item` is in a list, a key of an object, or part of a text. */
export function contains(budget: Budget, list: unknown, item: unknown): boolean {
  if (typeof list === 'string') {
    if (isNone(item)) return false;
    const pattern = textOf(budget, item);
    budget.search(list.length, pattern.length);
    return list.includes(pattern);
  }
  if (Array.isArray(list)) return list.some((entry) => isEqual(budget, entry, item));
  if (isNone(list)) return false;
  if (isMapping(list))
    return (typeof item === 'string' || typeof item === 'number') && !isDenied(item) && Object.hasOwn(list, item);
  throw fault(`"in" needs a list, an object or a text on its right, not ${kindOf(list)}.`);
}

import { type Budget, fault } from '../budget.ts';
import { addDecimals, decimalText, toDecimal, type Decimal } from '../numbers/decimal.ts';
import { oneOf, type Operation, whole, word } from '../operation.ts';
import {
  createGetter,
  type Dict,
  emptyDict,
  entriesOf,
  isMapping,
  isNone,
  isNumeric,
  isTruthy,
  itemsOf,
  kindOf,
  numberOf,
  order,
  put,
  textOf,
  toJson,
} from '../values.ts';

const length: Operation = {
  params: [],
  run: (budget, value) => (isMapping(value) ? Object.keys(value).length : itemsOf(budget, value).length),
};

export const LIST_FILTERS: Readonly<Record<string, Operation>> = {
  length,
  count: length,
  first: { params: [], run: (budget, value) => itemsOf(budget, value)[0] },
  last: { params: [], run: (budget, value) => itemsOf(budget, value).at(-1) },
  list: {
    params: [],
    run(budget, value) {
      const items = itemsOf(budget, value);
      budget.items(items.length);
      return [...items];
    },
  },
  items: { params: [], run: (budget, value) => pairs(budget, value) },
  join: { params: ['d', 'attribute'], run: join },
  reverse: {
    params: [],
    run(budget, value) {
      const items = itemsOf(budget, value).toReversed();
      budget.items(items.length);
      return typeof value === 'string' ? items.join('') : items;
    },
  },
  sort: { params: ['reverse', 'case_sensitive', 'attribute'], named: ['numeric'], run: sort },
  unique: { params: ['case_sensitive', 'attribute'], run: unique },
  min: {
    params: ['case_sensitive', 'attribute'],
    named: ['numeric'],
    run: (budget, value, args) => extreme(budget, value, args, -1),
  },
  max: {
    params: ['case_sensitive', 'attribute'],
    named: ['numeric'],
    run: (budget, value, args) => extreme(budget, value, args, 1),
  },
  sum: { params: ['attribute', 'start'], run: sum },
  groupby: { params: ['attribute', 'default', 'case_sensitive'], run: groupBy },
  batch: { params: ['linecount', 'fill_with'], run: batch },
  slice: { params: ['slices', 'fill_with'], run: slice },
  dictsort: { params: ['case_sensitive', 'by', 'reverse'], run: dictSort },
};

export function pairs(budget: Budget, value: unknown): unknown[] {
  if (isNone(value)) return [];
  if (!isMapping(value)) throw fault(`An object is needed here, not ${kindOf(value)}.`);
  return entriesOf(budget, value);
}

export function join(budget: Budget, value: unknown, [d, attribute]: readonly unknown[]): string {
  const between = word(d, '', 'd');
  const read = isNone(attribute) ? null : createGetter(budget, attribute);
  const items = itemsOf(budget, value);
  budget.items(items.length);
  let total = 0;
  const texts = items.map((item) => {
    const text = textOf(budget, read === null ? item : read(item));
    total += text.length + between.length;
    if (total > budget.limits.output + between.length) budget.text(total);
    return text;
  });
  budget.text(Math.max(0, total - between.length));
  return texts.join(between);
}

type Keyed = { readonly key: unknown; readonly item: unknown };
type KeyOf = (item: unknown) => unknown;

/** Reads the key for sorting, grouping or comparing items: an attribute, in lower case unless `case_sensitive`. */
function keyReader(budget: Budget, attribute: unknown, case_sensitive: unknown, numeric?: unknown): KeyOf {
  const read = isNone(attribute) ? (item: unknown) => item : createGetter(budget, attribute);
  if (isTruthy(numeric)) {
    return (item) => {
      const value = read(item);
      return typeof value === 'string' && isNumeric(value) ? numberOf(value) : value;
    };
  }
  if (isTruthy(case_sensitive)) return read;
  return (item) => {
    const value = read(item);
    if (typeof value !== 'string') return value;
    budget.text(value.length);
    return value.toLowerCase();
  };
}

function keyed(budget: Budget, value: unknown, key_of: KeyOf): Keyed[] {
  const items = itemsOf(budget, value);
  budget.items(items.length);
  return items.map((item) => ({ key: key_of(item), item }));
}

/** Stable, also in reverse. `attribute` may contain several names, separated by commas. */
function sort(budget: Budget, value: unknown, [reverse, case_sensitive, attribute, numeric]: readonly unknown[]): unknown[] {
  const names = typeof attribute === 'string' ? attribute.slice(0, 1_000).split(',') : [attribute];
  const readers = names.map((name) => keyReader(budget, name, case_sensitive, numeric));
  const key_of: KeyOf = readers.length === 1 && readers[0] ? readers[0] : (item) => readers.map((read) => read(item));
  const direction = isTruthy(reverse) ? -1 : 1;
  return keyed(budget, value, key_of)
    .sort((a, b) => direction * order(budget, a.key, b.key))
    .map(({ item }) => item);
}

function unique(budget: Budget, value: unknown, [case_sensitive, attribute]: readonly unknown[]): unknown[] {
  const seen = new Set<string>();
  const unique: unknown[] = [];
  for (const { key, item } of keyed(budget, value, keyReader(budget, attribute, case_sensitive))) {
    const identity = toJson(budget, key);
    if (seen.has(identity)) continue;
    seen.add(identity);
    unique.push(item);
  }
  return unique;
}

/** Returns the item itself, as in Jinja2. Items without a value are skipped. */
function extreme(budget: Budget, value: unknown, args: readonly unknown[], direction: number): unknown {
  const [case_sensitive, attribute, numeric] = args;
  let best: Keyed | undefined;
  for (const candidate of keyed(budget, value, keyReader(budget, attribute, case_sensitive, numeric))) {
    if (isNone(candidate.key)) continue;
    if (best === undefined || order(budget, candidate.key, best.key) * direction > 0) best = candidate;
  }
  return best?.item;
}

/** Adds numbers. If one of them is a decimal as text, the sum is exact and a text too. */
function sum(budget: Budget, value: unknown, [attribute, start]: readonly unknown[]): number | string {
  const read: KeyOf = isNone(attribute) ? (item) => item : createGetter(budget, attribute);
  const values = [start ?? 0, ...keyed(budget, value, read).map(({ key }) => key)].filter((item) => !isNone(item));
  if (!values.some((item) => typeof item === 'string')) {
    const total = values.reduce<number>((total, item) => total + numberOf(item), 0);
    if (!Number.isFinite(total)) throw fault('A calculation did not return a finite number.');
    return total;
  }
  const total = values.reduce<Decimal>(
    (total, item) => {
      budget.step(10);
      const decimal = toDecimal(typeof item === 'boolean' ? Number(item) : item);
      if (decimal === null) throw fault(`A number is needed here, not ${kindOf(item)}.`);
      return addDecimals(total, decimal);
    },
    { units: 0n, scale: 0 },
  );
  return decimalText(total);
}

/** Groups in the order of their keys: objects `{grouper, list}` that can also be unpacked as a pair. */
function groupBy(budget: Budget, value: unknown, [attribute, otherwise, case_sensitive]: readonly unknown[]): Dict[] {
  if (isNone(attribute)) throw fault('"groupby" needs the attribute to group by.');
  const read = createGetter(budget, attribute);
  const key_of = keyReader(budget, null, case_sensitive);
  const groups = new Map<string, { key: unknown; grouper: unknown; list: unknown[] }>();
  for (const { item, key: found } of keyed(budget, value, read)) {
    const grouper = isNone(found) ? (otherwise ?? null) : found;
    const key = key_of(grouper);
    const identity = toJson(budget, key);
    const group = groups.get(identity);
    if (group === undefined) groups.set(identity, { key, grouper, list: [item] });
    else group.list.push(item);
  }
  return [...groups.values()]
    .sort((a, b) => order(budget, a.key, b.key))
    .map(({ grouper, list }) => {
      const group = emptyDict();
      put(group, 'grouper', grouper);
      put(group, 'list', list);
      return group;
    });
}

function batch(budget: Budget, value: unknown, [linecount, fill_with]: readonly unknown[]): unknown[][] {
  const size = whole(linecount, 0, 'linecount', 1, 100_000);
  const items = itemsOf(budget, value);
  const count = Math.ceil(items.length / size);
  budget.items(count + (isNone(fill_with) ? items.length : count * size));
  const lines = Array.from({ length: count }, (_, index) => items.slice(index * size, (index + 1) * size));
  const last = lines.at(-1);
  if (last !== undefined && !isNone(fill_with)) while (last.length < size) last.push(fill_with);
  return lines;
}

/** Splits into `slices` lists of nearly equal length. */
function slice(budget: Budget, value: unknown, [slices, fill_with]: readonly unknown[]): unknown[][] {
  const count = whole(slices, 0, 'slices', 1, 100_000);
  const items = itemsOf(budget, value);
  budget.items(count + items.length);
  const each = Math.floor(items.length / count);
  const longer = items.length % count;
  return Array.from({ length: count }, (_, index) => {
    const start = index * each + Math.min(index, longer);
    const part: unknown[] = items.slice(start, start + each + (index < longer ? 1 : 0));
    if (!isNone(fill_with) && index >= longer) part.push(fill_with);
    return part;
  });
}

function dictSort(budget: Budget, value: unknown, [case_sensitive, by, reverse]: readonly unknown[]): unknown[] {
  const attribute = oneOf(by, ['key', 'value'], 'by') === 'key' ? 0 : 1;
  return sort(budget, pairs(budget, value), [reverse, case_sensitive, attribute]);
}

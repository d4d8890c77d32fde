import { type Budget, fault } from '../budget.ts';
import { arranged, type Operation, type Operations, operations, whole, word } from '../operation.ts';
import { TESTS } from '../tests.ts';
import { createGetter, get, isMapping, isNone, isTruthy, itemsOf, kindOf, textOf, toJson } from '../values.ts';
import { csv, formatDate, isYes, markdownTable, printf } from './format.ts';
import { join, LIST_FILTERS, pairs } from './list.ts';
import { NUMBER_FILTERS } from './number.ts';
import { replace, splitAt, strip, TEXT_FILTERS, urlEncode } from './text.ts';

const fallback: Operation = {
  params: ['default_value', 'boolean'],
  run: (_, value, [otherwise = '', boolean]) => ((isTruthy(boolean) ? !isTruthy(value) : isNone(value)) ? otherwise : value),
};
const toJsonText: Operation = {
  params: ['indent'],
  run: (budget, value, [indent]) => toJson(budget, value, whole(indent, 0, 'indent', 0, 10)),
};
const date: Operation = {
  params: ['format'],
  run: (budget, value, [format]) => formatDate(budget, textOf(budget, value), word(format, '%Y-%m-%d', 'format')),
};

/** Every filter by its name. */
export const FILTERS: Operations = operations({
  ...TEXT_FILTERS,
  ...NUMBER_FILTERS,
  ...LIST_FILTERS,
  default: fallback,
  d: fallback,
  tojson: toJsonText,
  dump: toJsonText,
  date,
  strftime: date,
  format: { params: [], rest: true, run: (budget, value, args) => printf(budget, textOf(budget, value), args) },
  urlencode: {
    params: [],
    run(budget, value) {
      const encode = (part: unknown, part_of_uri: 'path' | 'query') => {
        const text = textOf(budget, part);
        budget.text(text.length * 3);
        return urlEncode(text, part_of_uri);
      };
      if (!isMapping(value)) return encode(value, 'path');
      return pairs(budget, value)
        .map((pair) => (pair as unknown[]).map((part) => encode(part, 'query')).join('='))
        .join('&');
    },
  },
  csv: {
    params: ['columns', 'header', 'separator'],
    run(budget, value, [columns, header, separator]) {
      const sign = word(separator, ',', 'separator');
      if (![',', ';', '\t', '|'].includes(sign)) throw fault('"separator" must be a comma, a semicolon, a tab or a bar.');
      const { names, cells } = table(budget, value, columns);
      return csv(budget, cells, isYes(header, true) ? names : null, sign);
    },
  },
  markdown_table: {
    params: ['columns'],
    run(budget, value, [columns]) {
      const { names, cells } = table(budget, value, columns);
      return names.length === 0 ? '' : markdownTable(budget, cells, names);
    },
  },
  map: { params: ['filter'], named: ['attribute', 'default'], rest: true, run: map },
  select: { params: ['test'], rest: true, run: (budget, value, [test, ...args]) => pick(budget, value, null, test, args, true) },
  reject: { params: ['test'], rest: true, run: (budget, value, [test, ...args]) => pick(budget, value, null, test, args, false) },
  selectattr: {
    params: ['attribute', 'test'],
    rest: true,
    run: (budget, value, [attribute, test, ...args]) => pick(budget, value, createGetter(budget, attribute), test, args, true),
  },
  rejectattr: {
    params: ['attribute', 'test'],
    rest: true,
    run: (budget, value, [attribute, test, ...args]) => pick(budget, value, createGetter(budget, attribute), test, args, false),
  },
});

function named(table: Operations, name: unknown, kind: string): Operation {
  const operation = typeof name === 'string' ? table.get(name) : undefined;
  if (operation === undefined) throw fault(`There is no ${kind} with that name; see the list in the documentation.`);
  return operation;
}

function map(budget: Budget, value: unknown, [filter, attribute, otherwise, ...args]: readonly unknown[]): unknown[] {
  const items = itemsOf(budget, value);
  budget.items(items.length);
  if (!isNone(attribute)) {
    const read = createGetter(budget, attribute);
    return items.map((item) => read(item) ?? otherwise ?? null);
  }
  const operation = named(FILTERS, filter, 'filter');
  const filled = arranged(operation, args);
  return items.map((item) => {
    budget.step(1);
    return operation.run(budget, item, filled);
  });
}

function pick(
  budget: Budget,
  value: unknown,
  read: ((item: unknown) => unknown) | null,
  test: unknown,
  args: readonly unknown[],
  expected: boolean,
): unknown[] {
  const items = itemsOf(budget, value);
  budget.items(items.length);
  const operation = named(TESTS, test ?? 'truthy', 'test');
  const filled = arranged(operation, args);
  return items.filter((item) => {
    budget.step(1);
    return Boolean(operation.run(budget, read === null ? item : read(item), filled)) === expected;
  });
}

/** Rows, lists or single values as cells under column names. */
function table(budget: Budget, value: unknown, columns: unknown): { names: string[]; cells: unknown[][] } {
  const rows = isMapping(value) ? [value] : itemsOf(budget, value);
  const first = rows[0];
  const given =
    typeof columns === 'string'
      ? columns
          .slice(0, 10_000)
          .split(',')
          .map((name) => name.trim())
      : columns;
  const names = isNone(given)
    ? isMapping(first)
      ? itemsOf(budget, first)
      : Array.isArray(first)
        ? first.map((_, index) => index + 1)
        : rows.length > 0
          ? ['value']
          : []
    : itemsOf(budget, given);
  budget.items(rows.length);
  const texts = names.map((name) => textOf(budget, name));
  const readers = texts.map((text) => createGetter(budget, text));
  const cells = rows.map((row) => {
    budget.step(1 + texts.length);
    if (isMapping(row)) return readers.map((read) => read(row));
    return Array.isArray(row) ? texts.map((_, index): unknown => row[index]) : [row];
  });
  return { names: texts, cells };
}

const method = (filter: string, params = FILTERS.get(filter)?.params ?? []): Operation => ({
  params,
  run: (budget, value, args) => named(FILTERS, filter, 'filter').run(budget, value, args),
});
const stripped = (start: boolean, end: boolean): Operation => ({
  params: ['chars'],
  run: (budget, value, [chars]) => strip(receiverText(budget, value), chars, start, end),
});

/** All methods. They are built-in operations, never members of the value. */
export const METHODS: Operations = operations({
  items: method('items'),
  keys: { params: [], run: (budget, value) => pairs(budget, value).map((pair) => (pair as unknown[])[0]) },
  values: { params: [], run: (budget, value) => pairs(budget, value).map((pair) => (pair as unknown[])[1]) },
  get: {
    params: ['key', 'default'],
    run: (budget, value, [key, otherwise = null]) => (isMapping(value) ? (get(budget, value, key) ?? otherwise) : otherwise),
  },
  upper: method('upper'),
  lower: method('lower'),
  title: method('title'),
  capitalize: method('capitalize'),
  strip: stripped(true, true),
  lstrip: stripped(true, false),
  rstrip: stripped(false, true),
  split: { params: ['sep', 'maxsplit'], run: split },
  join: { params: ['iterable'], run: (budget, value, [iterable]) => join(budget, iterable, [receiverText(budget, value)]) },
  replace: {
    params: ['old', 'new', 'count'],
    run: (budget, value, [old, replacement, count]) =>
      replace(
        budget,
        receiverText(budget, value),
        word(old, '', 'old'),
        word(replacement, '', 'new'),
        whole(count, -1, 'count', -1, 1_000_000),
      ),
  },
  startswith: {
    params: ['prefix'],
    run: (budget, value, [prefix]) => receiverText(budget, value).startsWith(word(prefix, '', 'prefix')),
  },
  endswith: {
    params: ['suffix'],
    run: (budget, value, [suffix]) => receiverText(budget, value).endsWith(word(suffix, '', 'suffix')),
  },
  cycle: {
    params: [],
    rest: true,
    run(_, value, args) {
      const index = isMapping(value) ? value['index0'] : undefined;
      if (typeof index !== 'number' || args.length === 0) throw fault('"cycle" belongs to "loop" and needs at least one value.');
      return args[index % args.length];
    },
  },
});

function receiverText(budget: Budget, value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number' && !isNone(value))
    throw fault(`A text is needed here, not ${kindOf(value)}.`);
  const text = textOf(budget, value);
  budget.text(text.length);
  return text;
}

/** Without a separator, splits at white space, as in Python. */
function split(budget: Budget, value: unknown, [sep, maxsplit]: readonly unknown[]): string[] {
  const text = receiverText(budget, value);
  const most = whole(maxsplit, -1, 'maxsplit', -1, 100_000);
  const separator = word(sep, '', 'sep');
  if (!isNone(sep) && separator === '') throw fault('"sep" must not be empty.');
  const parts = isNone(sep) ? text.split(/\s+/).filter((part) => part !== '') : splitAt(budget, text, separator);
  budget.items(parts.length);
  if (most < 0 || parts.length <= most + 1) return parts;
  return [...parts.slice(0, most), parts.slice(most).join(isNone(sep) ? ' ' : separator)];
}

import { type Document, isMap, isScalar, isSeq, type Pair, type YAMLMap, type YAMLSeq } from 'yaml';
import { canonical } from '#snapshots/format/canonical.ts';
import type { EntityValues } from '#core/store/entity-table.ts';

/** Changes parts of a YAML tree. Unchanged parts keep their comments and order. */

const isObject = (value: unknown): value is EntityValues => typeof value === 'object' && value !== null && !Array.isArray(value);
/** A user-defined field may have the name of an inherited property. */
const valueOf = (values: EntityValues, name: string): unknown => (Object.hasOwn(values, name) ? values[name] : undefined);
const keyOf = ({ key }: Pair): string => String(isScalar(key) ? key.value : key);

/**
 * Sets the values of a map. Existing fields get their value from `full`, even a default. Other fields of `slim` are added after
 * the field that precedes them there.
 */
export function mergeMap(document: Document, map: YAMLMap, slim: EntityValues, full: EntityValues): void {
  map.items = map.items.filter((pair) => valueOf(full, keyOf(pair)) !== undefined);
  for (const pair of map.items) {
    const key = keyOf(pair);
    pair.value = mergeNode(document, pair.value, valueOf(slim, key), valueOf(full, key));
  }
  const names = Object.keys(slim);
  for (const [index, name] of names.entries()) {
    if (slim[name] === undefined || map.items.some((pair) => keyOf(pair) === name)) continue;
    const before = names.slice(0, index).toReversed();
    const last = Math.max(-1, ...before.slice(0, 1).map((other) => map.items.findIndex((pair) => keyOf(pair) === other)));
    const nearest = last >= 0 ? last : nearestOf(map, before);
    map.items.splice(nearest + 1, 0, document.createPair(name, slim[name]));
  }
}

const nearestOf = (map: YAMLMap, names: readonly string[]): number => {
  for (const name of names) {
    const at = map.items.findIndex((pair) => keyOf(pair) === name);
    if (at >= 0) return at;
  }
  return -1;
};

function mergeNode(document: Document, node: unknown, slim: unknown, full: unknown): unknown {
  if (isMap(node) && isObject(full)) {
    mergeMap(document, node, isObject(slim) ? slim : {}, full);
    return node;
  }
  if (isSeq(node) && Array.isArray(full)) {
    mergeSeq(document, node, Array.isArray(slim) ? (slim as unknown[]) : [], full as unknown[]);
    return node;
  }
  if (isScalar(node) && (full === null || typeof full !== 'object')) {
    if (node.value === full) return node;
    // The quoting fits only the old text.
    delete node.source;
    delete node.type;
    delete node.format;
    node.value = full;
    return node;
  }
  const fresh = document.createNode(slim ?? full);
  if (isScalar(node)) fresh.commentBefore = node.commentBefore ?? null;
  return fresh;
}

/** Items with a name keep their comments when they move. The others are matched by their index. */
function mergeSeq(document: Document, seq: YAMLSeq, slim: readonly unknown[], full: readonly unknown[]): void {
  const old = [...seq.items];
  const plain = old.map((item) => canonical((item as { toJS(document: Document): unknown }).toJS(document)));
  const names = old.map((item) => (isMap(item) ? item.get('name') : undefined));
  const used = new Set<number>();
  const claim = (index: number): number => {
    if (index >= 0) used.add(index);
    return index;
  };
  const free = (fits: (index: number) => boolean): number => claim(old.findIndex((_, index) => !used.has(index) && fits(index)));
  const places = full.map((value) => free((index) => plain[index] === canonical(value) || sameName(names[index], value)));
  seq.items = full.map((value, index) => {
    let old_index = places[index] ?? -1;
    if (old_index < 0 && isObject(value) && value['name'] === undefined && index < old.length)
      old_index = free((other) => other === index);
    return old_index < 0 ? document.createNode(slim[index] ?? value) : mergeNode(document, old[old_index], slim[index], value);
  });
}

const sameName = (name: unknown, value: unknown): boolean => name !== undefined && isObject(value) && value['name'] === name;

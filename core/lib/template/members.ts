import type { Template } from './evaluate.ts';

/**
 * Members of an external variable that a template needs, such as `region` of `vars.region`. Members that it tests, or for which
 * it has an alternative (`default`, `is defined`, `if`, `or`), are not needed.
 */
export function neededMembers({ ast, program }: Template, of: string): string[] {
  if (!program.unset.includes(of)) return [];
  const read = new Set<string>();
  const tested = new Set<string>();
  visit(ast.body, false);
  return [...read].filter((name) => !tested.has(name));

  function visit(node: unknown, asks: boolean): void {
    if (Array.isArray(node)) for (const item of node) visit(item, asks);
    else if (isNode(node)) {
      const member = memberOf(node, of);
      if (member !== null) (asks ? tested : read).add(member);
      for (const [key, value] of Object.entries(node)) visit(value, asks || asksIn(node, key));
    }
  }
}

type Node = Readonly<Record<string, unknown>>;
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;

function memberOf({ type, target, key }: Node, of: string): string | null {
  if (type !== 'get' || !isNode(target) || target['type'] !== 'name' || target['name'] !== of || !isNode(key)) return null;
  return key['type'] === 'literal' && typeof key['value'] === 'string' ? key['value'] : null;
}

const FALLBACKS: ReadonlySet<unknown> = new Set(['default', 'd']);

/** Whether a value in a part of a node may be missing. The branches of `if` have their conditions as `test`. */
const asksIn = ({ type, name }: Node, key: string): boolean =>
  key === 'test' ||
  type === 'or' ||
  type === 'and' ||
  (key === 'value' && (type === 'test' || (type === 'filter' && FALLBACKS.has(name))));

import type { Call } from '#ui/src/api.ts';
import { allOf } from '#ui/src/kernel/data/all-of.ts';
import type { Problem } from '#ui/src/kernel/problem.ts';
import { definitionOf } from './finding-groups.ts';

const PAGE = 500;
const KINDS = ['tool', 'resource', 'prompt'] as const;

export interface Definition {
  readonly kind: (typeof KINDS)[number];
  readonly name: string;
}

/** Definitions that their database refuses, or whose tables have changed; each once. */
export function unfitIn({ errors }: Pick<Problem, 'errors'>): Definition[] {
  const found = errors.flatMap((error): Definition[] => {
    const of = error.gate === undefined || error.gate === 'drift' ? definitionOf(error) : undefined;
    const kind = KINDS.find((one) => one === of?.kind);
    return of === undefined || kind === undefined ? [] : [{ kind, name: of.name }];
  });
  return [...new Map(found.map((one) => [`${one.kind} ${one.name}`, one])).values()];
}

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly version: number;
}

/** Disables definitions in the working copy, those of one kind at once. Rejects where one stays enabled. */
export async function disableAll(call: Call, definitions: readonly Definition[]): Promise<true> {
  for (const kind of KINDS) {
    const names = new Set(definitions.filter((one) => one.kind === kind).map(({ name }) => name));
    if (names.size === 0) continue;
    const { items } = await allOf<Listed>((skip, limit) => call(`${kind}s.list`, { skip, limit }), PAGE);
    const chosen = items.filter(({ name }) => names.has(name)).map(({ id, version }) => ({ id, version, enabled: false }));
    for (let at = 0; at < chosen.length; at += PAGE) {
      const { errors } = await call('definitions.update', { kind, items: chosen.slice(at, at + PAGE) });
      const [fault] = errors;
      if (fault !== undefined) throw new Error(fault.error);
    }
  }
  return true;
}

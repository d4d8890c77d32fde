import { createSignal } from 'solid-js';

/** Which rows of a list are chosen, by id. */
export interface Selection {
  readonly ids: () => ReadonlySet<string>;
  readonly count: () => number;
  has(id: string): boolean;
  toggle(id: string): void;
  set(ids: Iterable<string>): void;
  clear(): void;
}

export function createSelection(): Selection {
  const [ids, setIds] = createSignal<ReadonlySet<string>>(new Set());
  return {
    ids,
    count: () => ids().size,
    has: (id) => ids().has(id),
    toggle: (id) => setIds((before) => new Set(before.has(id) ? [...before].filter((other) => other !== id) : [...before, id])),
    set: (chosen) => setIds(() => new Set(chosen)),
    clear: () => setIds(() => new Set<string>()),
  };
}

import { createSignal } from 'solid-js';
import type { Members } from '#core/lib/view/table.ts';
import { same } from '#ui/src/kernel/form/merge.ts';
import { parseJson } from '#ui/src/kernel/json.ts';
import type { Memory } from './state.ts';

/** A saved call: the definition and its arguments, without the result. */
export interface SavedCall {
  /** Key of an offer: `tool:list_orders`. */
  readonly key: string;
  readonly values: Members;
}

const MOST = 50;

/** Calls that a person saved in this browser. */
export function createSavedCalls(memory: Memory) {
  const read = () => (parseJson(memory.read() ?? '') ?? []) as SavedCall[];
  const [calls, setCalls] = createSignal<readonly SavedCall[]>(read());
  const keep = (list: readonly SavedCall[]) => {
    setCalls(list);
    memory.write(list.length === 0 ? undefined : JSON.stringify(list));
  };
  const isSame = (one: SavedCall, other: SavedCall) => one.key === other.key && same(one.values, other.values);
  return {
    calls,
    has: (call: SavedCall) => calls().some((one) => isSame(one, call)),
    save: (call: SavedCall) => keep([call, ...calls().filter((one) => !isSame(one, call))].slice(0, MOST)),
    remove: (call: SavedCall) => keep(calls().filter((one) => !isSame(one, call))),
  };
}

export type SavedCalls = ReturnType<typeof createSavedCalls>;

import { CALL_OUTCOMES, type CallOutcome, outcomeOf } from '#core/contract/observe/outcomes.ts';
import type { UsageKind } from '#core/contract/observe/calls.ts';
import { metric, type Sample } from '#core/lib/metrics/metrics-text.ts';
import type { Registry } from '#mcp-host/registry/registry.ts';
import type { UsageItem } from '#mcp-host/requests/usage-item.ts';

/** Calls by definition and by how they ended. */
export interface CallCounts {
  add(call: UsageItem): void;
  /** The text has the counts of its tools from zero on. Those of definitions that it lacks are merged under one name. */
  use(registry: Registry): void;
  text(): string;
}

/** Label of definitions that are no longer deployed, so that the number of labels does not grow. */
export const REMOVED = '_removed';

/** Whether the registry has a definition of this kind and name. */
type Has = (kind: UsageKind, name: string) => boolean;

interface Counts {
  readonly kind: UsageKind;
  readonly name: string;
  readonly by_outcome: Map<CallOutcome, number>;
}

export function createCallCounts(): CallCounts {
  let has: Has = () => false;
  let tools: ReadonlyMap<string, unknown> = new Map();
  /** Of definitions that were called: a deploy of many tools adds nothing here. */
  let counts = new Map<string, Counts>();
  const countsOf = (kind: UsageKind, name: string): Counts['by_outcome'] => {
    const label = has(kind, name) ? name : REMOVED;
    const key = keyOf(kind, label);
    let found = counts.get(key);
    if (found === undefined) counts.set(key, (found = { kind, name: label, by_outcome: new Map() }));
    return found.by_outcome;
  };
  const increase = (of: Counts['by_outcome'], outcome: CallOutcome, by: number) =>
    void of.set(outcome, (of.get(outcome) ?? 0) + by);
  return {
    add({ of: { kind, name }, fault }) {
      increase(countsOf(kind, name), outcomeOf(fault?.code ?? null), 1);
    },
    use(registry) {
      const before = counts.values();
      ({ tools } = registry);
      has = namesOf(registry);
      counts = new Map();
      for (const { kind, name, by_outcome } of before) {
        for (const [outcome, count] of by_outcome) increase(countsOf(kind, name), outcome, count);
      }
    },
    text() {
      const samples: Sample[] = [];
      // A rate misses the first failure of a series that begins with it, so every tool has every outcome.
      for (const name of tools.keys()) {
        const called = counts.get(keyOf('tool', name))?.by_outcome;
        for (const outcome of CALL_OUTCOMES) samples.push([{ kind: 'tool', name, outcome }, called?.get(outcome) ?? 0]);
      }
      for (const { kind, name, by_outcome } of counts.values()) {
        if (kind === 'tool' && tools.has(name)) continue;
        for (const [outcome, count] of by_outcome) samples.push([{ kind, name, outcome }, count]);
      }
      return metric('counter', 'sluice_calls_total', 'Calls of tools, resources and prompts, by how they ended.', samples);
    },
  };
}

const keyOf = (kind: UsageKind, name: string): string => `${kind} ${name}`;

function namesOf({ tools, resources, templates, prompts }: Registry): Has {
  const resource = new Set([...resources.values(), ...templates].map(({ entity }) => entity.name));
  return (kind, name) => (kind === 'tool' ? tools.has(name) : kind === 'prompt' ? prompts.has(name) : resource.has(name));
}

import { CALL_OUTCOMES, type CallOutcome, outcomeOf } from '#core/contract/observe/outcomes.ts';
import type { UsageKind } from '#core/contract/observe/calls.ts';
import { metric, type Sample } from '#core/lib/metrics/metrics-text.ts';
import type { Registry } from '#mcp-host/registry/registry.ts';
import type { UsageItem } from '#mcp-host/requests/usage-item.ts';

/** Calls by definition and by how they ended. */
export interface CallCounts {
  add(call: UsageItem): void;
  /** Starts the counts of new tools at zero, and merges those of definitions that this registry lacks under one name. */
  use(registry: Registry): void;
  text(): string;
}

/** Label of definitions that are no longer deployed, so that the number of labels does not grow. */
export const REMOVED = '_removed';

type Names = Readonly<Record<UsageKind, ReadonlySet<string>>>;
const NO_NAMES: Names = { tool: new Set(), resource: new Set(), prompt: new Set() };

interface Counts {
  readonly kind: UsageKind;
  readonly name: string;
  readonly by_outcome: Map<CallOutcome, number>;
}

export function createCallCounts(): CallCounts {
  let known = NO_NAMES;
  let counts = new Map<string, Counts>();
  const countsOf = (kind: UsageKind, name: string): Counts['by_outcome'] => {
    const label = known[kind].has(name) ? name : REMOVED;
    const key = `${kind} ${label}`;
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
    use({ tools, resources, templates, prompts }) {
      const before = counts.values();
      const resource = new Set([...resources.values(), ...templates].map(({ entity }) => entity.name));
      known = { tool: new Set(tools.keys()), resource, prompt: new Set(prompts.keys()) };
      counts = new Map();
      // A rate misses the first failure of a series that begins with it.
      for (const name of known.tool) for (const outcome of CALL_OUTCOMES) increase(countsOf('tool', name), outcome, 0);
      for (const { kind, name, by_outcome } of before) {
        for (const [outcome, count] of by_outcome) if (count > 0) increase(countsOf(kind, name), outcome, count);
      }
    },
    text() {
      const samples = [...counts.values()].flatMap(({ kind, name, by_outcome }) =>
        [...by_outcome].map(([outcome, count]): Sample => [{ kind, name, outcome }, count]),
      );
      return metric('counter', 'sluice_calls_total', 'Calls of tools, resources and prompts, by how they ended.', samples);
    },
  };
}

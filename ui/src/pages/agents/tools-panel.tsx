import { createMemo, createSignal, For } from 'solid-js';
import { operations } from '#core/contract/index.ts';
import type { Operation } from '#core/contract/operation.ts';
import { compileSearch } from '#core/lib/text/search.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { FilterBar } from '#ui/src/components/table/filter-bar.tsx';
import { plural } from '#ui/src/kernel/words.ts';

const TOOLS = Object.values<Operation>(operations)
  .flatMap(({ agent, access, summary }) => (agent === undefined ? [] : [{ name: agent, access, summary }]))
  .toSorted((a, b) => (a.name < b.name ? -1 : 1));
const TONE = { read: 'plain', write: 'info', deploy: 'warning' } as const;
const toneOf = (access: string) => Object.entries(TONE).find(([scope]) => scope === access)?.[1] ?? 'plain';

/** What an agent can do, from the same definitions as the endpoint. */
export function ToolsPanel() {
  const [search, setSearch] = createSignal('');
  const shown = createMemo(() => {
    const matches = compileSearch(search());
    return TOOLS.filter(({ name, summary }) => matches(name, summary));
  });
  return (
    <div class="stack">
      <p class="small soft">{`${plural(TOOLS.length, 'MCP tool')} on the agent endpoint, each with the scope it needs.`}</p>
      <FilterBar search={{ label: 'Search tools', value: search(), onInput: setSearch }} />
      <ul class="panel agents-tools" aria-label="Tools">
        <For each={shown()}>
          {(tool) => (
            <li>
              <span class="mono">{tool.name}</span>
              <Badge tone={toneOf(tool.access)}>{tool.access}</Badge>
              <span class="small soft">{tool.summary}</span>
            </li>
          )}
        </For>
      </ul>
    </div>
  );
}

import { createSignal, For, Show } from 'solid-js';
import { Badge } from '#ui/src/components/badge.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { CopyButton } from '#ui/src/components/show/code-block.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { toolsetUrl } from '#ui/src/features/connect/connect-texts.tsx';
import { SeenBy } from './seen-by.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';

const MOST = 200;

/** Every toolset, with the address at which it is served. */
export function Toolsets() {
  const [shown_as, setShownAs] = createSignal(false);
  const list = useQuery((read) => read('toolsets.list', { limit: MOST }));
  const health = useQuery((read) => read('server.health', {}));
  const address = (name: string) => toolsetUrl(health.data()?.mcp_url ?? '', name);
  const action = () => (
    <LinkButton kind="primary" icon="plus" href="/toolsets/new">
      New toolset
    </LinkButton>
  );
  const actions = () => (
    <>
      <Button needs="preview.execute" aria-expanded={shown_as()} onPress={() => setShownAs(!shown_as())}>
        View as…
      </Button>
      {action()}
    </>
  );
  return (
    <Page
      title="Toolsets"
      lead="A toolset is a named part of the tools, resources and prompts, with a separate address. It decides who sees what: tokens, clients and people can be limited to it."
      actions={actions()}
    >
      <Show when={shown_as()}>
        <SeenBy />
      </Show>
      <section class="panel" aria-label="Toolsets">
        <DataTable
          label="Toolsets"
          list={list}
          key={({ id }) => id}
          href={({ id }) => `/toolsets/${id}`}
          muted={({ enabled }) => !enabled}
          columns={[
            {
              id: 'name',
              head: 'Name',
              sort: ({ name }) => name,
              cell: (row) => (
                <span class="row">
                  <span class="mono">{row.name}</span>
                  <Show when={row.title}>{(text) => <span class="small faint">{text()}</span>}</Show>
                  <Show when={row.read_only}>
                    <Badge>Read-only</Badge>
                  </Show>
                  <Show when={!row.enabled}>
                    <Badge>Disabled</Badge>
                  </Show>
                </span>
              ),
            },
            {
              id: 'groups',
              head: 'Groups',
              narrow: 'hide',
              cell: (row) => (
                <span class="row">
                  <For each={row.groups} fallback={<span class="small faint">Everyone who signs in</span>}>
                    {(group) => <span class="tag">{group}</span>}
                  </For>
                </span>
              ),
            },
            { id: 'updated', head: 'Changed', narrow: 'medium', time: ({ updated_at }) => updated_at },
          ]}
          actions={(row) => (
            <Show when={health.data()}>
              <CopyButton text={address(row.name)} label={`Address of ${row.name}`} kind="quiet" />
            </Show>
          )}
          empty={
            <EmptyState icon="filter" title="No toolsets yet" action={action()}>
              <p>Without toolsets every caller sees everything that is deployed.</p>
            </EmptyState>
          }
        />
      </section>
    </Page>
  );
}

import { createEffect, For, Match, on, onCleanup, Show, Switch } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Icon } from '#ui/src/components/icon.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { Snippet } from '#ui/src/components/snippet.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import type { Query } from '#ui/src/kernel/query.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { signature } from './advice.ts';
import { restExample } from './examples.ts';

type List = Output<'tools.list'>;
type Tool = List['items'][number];

const TYPING_MS = 200;

/** The tools, searched by the server; the search stands in the address. */
export function ToolsPanel(props: {
  tools: Query<List>;
  /** A connection that new tools can use. */
  connection_id: string | undefined;
  onMore: () => void;
  searchRef: (input: HTMLInputElement) => void;
}) {
  const { router } = useKernel();
  const wanted = () => router.query().get('q') ?? '';
  const list = () => props.tools.data();
  let timer: ReturnType<typeof setTimeout> | undefined;
  createEffect(
    on(
      wanted,
      () => {
        clearTimeout(timer);
        timer = setTimeout(() => void props.tools.reload(), TYPING_MS);
      },
      { defer: true },
    ),
  );
  onCleanup(() => clearTimeout(timer));

  return (
    <Panel
      title="Tools"
      count={list()?.total}
      actions={
        <div class="search">
          <Icon name="search" />
          <input
            ref={props.searchRef}
            class="input"
            type="search"
            placeholder="Search tools"
            aria-label="Search tools"
            aria-keyshortcuts="/"
            value={wanted()}
            onInput={(event) => router.setQuery({ q: event.currentTarget.value })}
            onKeyDown={(event) => {
              if (event.key !== 'Escape') return;
              router.setQuery({ q: '' });
              event.currentTarget.blur();
            }}
          />
          <kbd aria-hidden="true">/</kbd>
        </div>
      }
    >
      <Switch fallback={<SkeletonList rows={4} label="Reading tools" />}>
        <Match when={list()?.total === 0 && wanted() !== ''}>
          <div class="empty">
            <p>No tool has “{wanted()}” in its name or description.</p>
            <Button onPress={() => router.setQuery({ q: '' })}>Show all tools</Button>
          </div>
        </Match>
        <Match when={list()?.total === 0}>
          <NoTools connection_id={props.connection_id} />
        </Match>
        <Match when={list()}>
          {(found) => (
            <>
              <ul class="list">
                <For each={found().items}>{(tool) => <Row tool={tool} />}</For>
              </ul>
              <Show when={found().items.length < found().total}>
                <div class="more">
                  <Button kind="quiet" busy={props.tools.pending()} onPress={props.onMore}>
                    Show more of {plural(found().total, 'tool')}
                  </Button>
                </div>
              </Show>
            </>
          )}
        </Match>
        <Match when={props.tools.problem()}>
          {(problem) => (
            <div class="panel-body">
              <Notice tone="bad">{problem().detail}</Notice>
            </div>
          )}
        </Match>
      </Switch>
    </Panel>
  );
}

function Row(props: { tool: Tool }) {
  return (
    <li class="entity" data-off={props.tool.enabled ? undefined : 'true'}>
      <div class="entity-head">
        <span class="entity-name mono small">
          {props.tool.name}
          <span class="signature">
            (<wbr />
            {signature(props.tool.parameters)})
          </span>
        </span>
        <Show when={!props.tool.enabled}>
          <Badge>off</Badge>
        </Show>
        <Show
          when={props.tool.read_only}
          fallback={
            <Badge tone="brass" title="The database lets this tool change data">
              writes
            </Badge>
          }
        >
          <Badge tone="water" title="The database session refuses every change">
            read-only
          </Badge>
        </Show>
      </div>
      <p class="soft clamp">{props.tool.description}</p>
      <p class="small faint">{props.tool.connection_name}</p>
      <Show when={props.tool.warnings.length > 0}>
        <details>
          <summary>{plural(props.tool.warnings.length, 'warning')}</summary>
          <ul class="bullets soft">
            <For each={props.tool.warnings}>{(warning) => <li>{warning}</li>}</For>
          </ul>
        </details>
      </Show>
    </li>
  );
}

const example = (connection_id: string) => ({
  connection_id,
  name: 'orders_of_customer',
  description: 'Orders of one customer, newest first',
  sql_query: 'select id, total, created_at from orders where customer_id = :customer_id order by created_at desc',
  parameters: [{ name: 'customer_id', type: 'integer', description: 'Number of the customer' }],
});

function NoTools(props: { connection_id: string | undefined }) {
  const { session } = useKernel();
  return (
    <div class="empty">
      <Show
        when={props.connection_id}
        fallback={<p>A tool is one SQL statement with a name and typed parameters. Connect a database first, then write one.</p>}
      >
        {(id) => (
          <>
            <p>A tool is one SQL statement with a name and typed parameters. Create the first one over REST, then deploy.</p>
            <Snippet
              label="the commands that create a tool"
              text={restExample(window.location.origin, session.username(), '/tools', example(id()))}
            />
          </>
        )}
      </Show>
    </div>
  );
}

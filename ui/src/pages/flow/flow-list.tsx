import { For, Show } from 'solid-js';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { Badge } from '#ui/src/components/badge.tsx';
import { Icon, type IconName } from '#ui/src/components/icon.tsx';
import { Link } from '#ui/src/components/link.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import type { FlowNode, FlowPicture } from './flow-graph.ts';
import { count } from '#ui/src/kernel/numbers.ts';
import { plural } from '#ui/src/kernel/words.ts';

const ICONS = {
  tool: 'tool',
  resource: 'file',
  prompt: 'message',
  connection: 'database',
  server: 'rocket',
} as const satisfies Record<FlowNode['kind'], IconName>;

/** The drawing as nested lists of links. */
export function FlowList(props: { picture: FlowPicture }) {
  const connections = () => props.picture.nodes.filter(({ kind }) => kind === 'connection');
  const of = (id: string | null) =>
    props.picture.nodes.filter(({ kind, connection_id }) => kind !== 'connection' && kind !== 'server' && connection_id === id);
  return (
    <div class="stack">
      <For each={connections()}>
        {(connection) => (
          <Panel
            title={connection.name}
            count={of(connection.id).length}
            lead={connection.detail}
            actions={<Calls node={connection} />}
            flush
          >
            <Nodes nodes={of(connection.id)} />
          </Panel>
        )}
      </For>
      <Show when={of(null).length > 0}>
        <Panel title="Prompts without a connection" count={of(null).length} flush>
          <Nodes nodes={of(null)} />
        </Panel>
      </Show>
    </div>
  );
}

function Nodes(props: { nodes: readonly FlowNode[] }) {
  return (
    <ul class="flow-rows">
      <For each={props.nodes}>
        {(node) => (
          <li data-off={node.enabled ? undefined : 'true'}>
            <Icon name={ICONS[node.kind]} size={14} />
            <Link href={node.href} class="mono">
              <Breakable text={node.name} />
            </Link>
            <span class="faint small truncate">{node.detail}</span>
            <For each={node.toolsets}>
              {(name) => (
                <span class="tag" title={`In the toolset ${name}`}>
                  {name}
                </span>
              )}
            </For>
            <Show when={node.writes}>
              <Badge tone="warning">writes</Badge>
            </Show>
            <Show when={!node.enabled}>
              <Badge>off</Badge>
            </Show>
            <Calls node={node} />
          </li>
        )}
      </For>
    </ul>
  );
}

function Calls(props: { node: FlowNode }) {
  return (
    <span class="flow-calls faint small num">
      {props.node.calls === 0 ? 'not called' : plural(props.node.calls, 'call')}
      <Show when={props.node.errors > 0}>
        <span class="flow-errors">, {`${count(props.node.errors)} failed`}</span>
      </Show>
    </span>
  );
}

import { Show } from 'solid-js';
import type { FlowNode } from './flow-graph.ts';
import { count } from '#ui/src/kernel/numbers.ts';

/** From this share of failed calls on a node is marked. */
const BAD_SHARE = 0.05;

const toText = ({ name, detail, toolsets }: FlowNode): string =>
  [name, detail, toolsets.length === 0 ? '' : `Toolsets: ${toolsets.join(', ')}`].filter((text) => text !== '').join('\n');

/** One node of the drawing. */
export function FlowShape(props: {
  node: FlowNode;
  name: string;
  faded: boolean;
  /** Too small to be read: the box alone. */
  tiny: boolean;
  onNear: (id: string | undefined) => void;
  onOpen: (node: FlowNode) => void;
}) {
  const tall = () => props.node.height > 40;
  const middle = () => props.node.y + props.node.height / 2;
  return (
    <g
      class="flow-node"
      data-kind={props.node.kind}
      data-off={props.node.enabled ? undefined : 'true'}
      data-writes={props.node.writes ? 'true' : undefined}
      data-faded={props.faded ? 'true' : undefined}
      onPointerEnter={() => props.onNear(props.node.id)}
      onPointerLeave={() => props.onNear(undefined)}
      onClick={() => props.onOpen(props.node)}
    >
      <title>{toText(props.node)}</title>
      <rect x={props.node.x} y={props.node.y} width={props.node.width} height={props.node.height} rx="8" />
      <Show when={!props.tiny}>
        <rect class="flow-mark" x={props.node.x} y={props.node.y + 8} width="3" height={props.node.height - 16} rx="1.5" />
        <text class="flow-name" x={props.node.x + 14} y={tall() ? middle() - 4 : middle() + 4}>
          {props.name}
        </text>
        <Show when={tall()}>
          <text class="flow-detail" x={props.node.x + 14} y={middle() + 14}>
            {props.node.detail}
          </text>
        </Show>
        <Show when={props.node.calls > 0}>
          <text class="flow-count" x={props.node.x + props.node.width - 12} y={tall() ? middle() + 14 : middle() + 4}>
            {count(props.node.calls)}
          </text>
          <Show when={props.node.errors / props.node.calls >= BAD_SHARE}>
            <circle class="flow-bad" cx={props.node.x + props.node.width - 3} cy={props.node.y + 3} r="4">
              <title>{`${count(props.node.errors)} failed`}</title>
            </circle>
          </Show>
        </Show>
      </Show>
    </g>
  );
}

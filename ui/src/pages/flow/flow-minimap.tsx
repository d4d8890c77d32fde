import { For } from 'solid-js';
import type { FlowPicture } from './flow-graph.ts';
import { shownPart, type View } from './flow-view.ts';

const MAP = { width: 168, height: 112 };

/** The whole picture small, with a frame around what is in sight; press or drag to go there. For the pointer only: keys move the picture itself. */
export function FlowMinimap(props: {
  picture: FlowPicture;
  view: View;
  frame: { readonly width: number; readonly height: number };
  label: string;
  onCentre: (point: { x: number; y: number }) => void;
}) {
  const part = () => shownPart(props.view, props.frame);
  const go = (event: PointerEvent & { currentTarget: SVGSVGElement }) => {
    event.stopPropagation();
    if (event.buttons !== 1) return;
    const matrix = event.currentTarget.getScreenCTM();
    if (matrix === null) return;
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    props.onCentre({ x, y });
  };
  return (
    <svg
      class="flow-map"
      width={MAP.width}
      height={MAP.height}
      viewBox={`0 0 ${props.picture.width} ${props.picture.height}`}
      aria-hidden="true"
      onPointerDown={go}
      onPointerMove={go}
    >
      <title>{props.label}</title>
      <For each={props.picture.groups}>
        {(group) => <rect x={group.x} y={group.y} width={group.width} height={group.height} />}
      </For>
      <For each={props.picture.nodes.filter(({ kind }) => kind === 'connection' || kind === 'server')}>
        {(node) => <rect class="flow-map-node" x={node.x} y={node.y} width={node.width} height={node.height} />}
      </For>
      <rect
        class="flow-map-view"
        x={part().x}
        y={part().y}
        width={part().width}
        height={part().height}
        vector-effect="non-scaling-stroke"
      />
    </svg>
  );
}

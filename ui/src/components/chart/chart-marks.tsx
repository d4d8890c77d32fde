import { createMemo, Index } from 'solid-js';
import { Link } from '#ui/src/components/link.tsx';

/** Something that happened at one time, such as a deploy. */
export interface ChartMark {
  /** Milliseconds since 1970. */
  readonly time: number;
  /** Short, for the chart: `v12`. */
  readonly label: string;
  /** A sentence. */
  readonly text: string;
  readonly href: string;
}

/** As in the drawing: the axis of values, and what the last time is wide. */
const [AXIS_PX, END_PX] = [56, 20];
/** Marks closer than this are one. */
const NEAR_PX = 34;

interface Shown {
  /** From 0, where the drawing begins, to 1. */
  readonly share: number;
  /** It would stand out at the right. */
  readonly at_end: boolean;
  readonly marks: readonly ChartMark[];
}

/** Marks below the drawing, each with a line through it: links, in the order of time. */
export function Marks(props: { marks: readonly ChartMark[]; width: number; from: number | undefined; until: number }) {
  const shown = createMemo(() => {
    const { from = 0, until, width } = props;
    const groups: { share: number; at_end: boolean; marks: ChartMark[] }[] = [];
    if (width === 0 || until <= from) return groups;
    const inner = width - AXIS_PX - END_PX;
    for (const mark of props.marks) {
      const share = (mark.time - from) / (until - from);
      const last = groups.at(-1);
      if (last !== undefined && (share - last.share) * inner < NEAR_PX) last.marks.push(mark);
      else groups.push({ share, at_end: (1 - share) * inner + END_PX < NEAR_PX, marks: [mark] });
    }
    return groups;
  });
  return (
    <ul class="chart-marks" aria-label="Deploys">
      {/* The groups are new with each look at the server; their elements stay. */}
      <Index each={shown()}>{(group) => <Mark of={group()} />}</Index>
    </ul>
  );
}

function Mark(props: { of: Shown }) {
  const last = () => props.of.marks.at(-1);
  const text = () => props.of.marks.map((mark) => mark.text).join('\n');
  const shown = () => `${last()?.label ?? ''}${props.of.marks.length > 1 ? ` +${props.of.marks.length - 1}` : ''}`;
  // Of a window that becomes narrower, a mark stays within the drawing at once.
  const left = () => `calc(${AXIS_PX}px + ${props.of.share} * (100% - ${AXIS_PX + END_PX}px))`;
  return (
    <li style={{ left: left() }} data-edge={props.of.at_end ? 'end' : undefined} title={text()}>
      <Link href={last()?.href ?? ''} class="chart-mark" label={`${shown()}: ${text()}`}>
        {shown()}
      </Link>
    </li>
  );
}

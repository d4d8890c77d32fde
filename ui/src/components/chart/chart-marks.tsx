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
  readonly left: number;
  /** It would stand out at the right. */
  readonly at_end: boolean;
  readonly marks: readonly ChartMark[];
}

/** Marks below the drawing, each with a line through it: links, in the order of time. */
export function Marks(props: { marks: readonly ChartMark[]; width: number; from: number | undefined; until: number }) {
  const shown = createMemo(() => {
    const { from = 0, until, width } = props;
    const groups: { left: number; at_end: boolean; marks: ChartMark[] }[] = [];
    if (width === 0 || until <= from) return groups;
    for (const mark of props.marks) {
      const left = AXIS_PX + ((mark.time - from) / (until - from)) * (width - AXIS_PX - END_PX);
      const last = groups.at(-1);
      if (last !== undefined && left - last.left < NEAR_PX) last.marks.push(mark);
      else groups.push({ left, at_end: left > width - NEAR_PX, marks: [mark] });
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
  return (
    <li style={{ left: `${props.of.left}px` }} data-edge={props.of.at_end ? 'end' : undefined} title={text()}>
      <Link href={last()?.href ?? ''} class="chart-mark" label={`${shown()}: ${text()}`}>
        {shown()}
      </Link>
    </li>
  );
}

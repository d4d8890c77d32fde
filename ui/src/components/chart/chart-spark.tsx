import { sparkPath } from '#ui/src/kernel/metrics.ts';
import './chart.css';

const WIDTH = 120;
const HEIGHT = 28;

/** A line without axes beside a number that says the same. */
export function Spark(props: { values: readonly number[]; tone?: 'info' | 'bad' | 'warning' }) {
  const line = () => sparkPath(props.values, WIDTH, HEIGHT);
  return (
    <svg
      class="spark"
      data-tone={props.tone}
      viewBox={`0 -2 ${WIDTH} ${HEIGHT + 4}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path class="spark-area" d={line() === '' ? '' : `${line()}V${HEIGHT}H0Z`} />
      <path class="spark-line" d={line()} vector-effect="non-scaling-stroke" />
    </svg>
  );
}

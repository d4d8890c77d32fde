import { type JSX, Show } from 'solid-js';
import type { Query } from '#ui/src/kernel/data/query.ts';
import { Failed } from '#ui/src/components/notice.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';

/** The data of a query with its error above; a skeleton until the data is loaded. */
export function Loaded<T>(props: {
  of: Pick<Query<T>, 'data' | 'problem' | 'reload'>;
  label: string;
  /** Rows of the skeleton. */
  rows: number;
  /** Shown when the record does not exist, or no longer exists. */
  gone?: JSX.Element;
  children: (data: () => NonNullable<T>) => JSX.Element;
}) {
  const isGone = () => 'gone' in props && props.of.problem()?.code === 'not_found';
  return (
    <Show when={!isGone()} fallback={props.gone}>
      <Failed of={props.of} />
      <Show when={props.of.data()} fallback={<SkeletonList rows={props.rows} label={props.label} failed={props.of.problem()} />}>
        {(data) => props.children(data)}
      </Show>
    </Show>
  );
}

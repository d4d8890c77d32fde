import { Button } from '#ui/src/components/button.tsx';
import { useAct } from '#ui/src/components/use-act.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { type ColumnSource, MOST_VALUES } from './column-values.ts';

/** Reads the values of a column for a field. */
export function FromColumn(props: {
  source: ColumnSource;
  /** All of them are needed, not some. */
  whole?: boolean;
  onValues: (values: readonly unknown[]) => void;
}) {
  const { toasts } = useKernel();
  const { act } = useAct();
  const load = async () => {
    // When the button is pressed.
    // oxlint-disable-next-line solid/reactivity
    const values = await act(() => props.source.load());
    if (values === undefined) return;
    if (values.length === 0) toasts.show(`${props.source.name} has no values yet.`);
    else if (props.whole && values.length > MOST_VALUES)
      toasts.show(`${props.source.name} has more than ${MOST_VALUES} different values. Allowed values suit columns with few.`);
    else props.onValues(values);
  };
  return (
    <Button size="small" kind="quiet" icon="database" onPress={load}>
      Use values of {props.source.name}
    </Button>
  );
}

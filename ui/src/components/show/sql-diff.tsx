import { createSignal, Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { formatSql, loadFormatter } from '#ui/src/features/builder/sql/format.ts';
import { loadCode } from '#ui/src/kernel/data/load-code.ts';
import { TextDiff } from './text-diff.tsx';

const LONG_LINE = 80;
const isLongLine = (sql: string): boolean => sql.length > LONG_LINE && !sql.includes('\n');

/** Two statements line by line; those in one long line can be laid out first. */
export function SqlDiff(props: { before: string; after: string; label: string }) {
  const [laid, setLaid] = createSignal<{ readonly before: string; readonly after: string }>();
  const offered = () => isLongLine(props.before) || isLongLine(props.after);
  const format = async () => {
    const formatter = await loadCode(loadFormatter);
    // What cannot be laid out without changing it stays as it is written.
    const of = (sql: string) => (sql === '' ? '' : (formatSql(sql, 'postgresql', formatter) ?? sql));
    setLaid({ before: of(props.before), after: of(props.after) });
  };
  return (
    <div class="stack" data-gap="1">
      <TextDiff before={laid()?.before ?? props.before} after={laid()?.after ?? props.after} label={props.label} />
      <Show when={offered()}>
        <div class="row">
          <Button size="small" kind="quiet" onPress={() => (laid() === undefined ? void format() : setLaid(undefined))}>
            {laid() === undefined ? 'Format SQL' : 'Show as written'}
          </Button>
        </div>
      </Show>
    </div>
  );
}

import { Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import type { TableAddress } from '#ui/src/features/builder/sql/table-address.ts';
import { quoteName } from '#ui/src/features/builder/sql/completion.ts';
import { dialectOf } from '#ui/src/features/builder/sql/scan.ts';
import { ofPreview } from '#ui/src/features/run/result.ts';
import { ResultView } from '#ui/src/features/run/result-view.tsx';
import { createRunner } from '#ui/src/features/run/runner.ts';
import { count } from '#ui/src/kernel/numbers.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';

const SAMPLE_ROWS = 20;

/** Sample rows and the row count of a table, loaded on demand. */
export function TableSample(props: { connection_id: string; table: TableAddress }) {
  const { call } = useKernel();
  const connection = useQuery((read) => read('connections.get', { id: props.connection_id }));
  const run = (sql_query: string, signal: AbortSignal) =>
    call('preview.execute', { connection_id: props.connection_id, sql_query, limit: SAMPLE_ROWS }, signal);
  const rows = createRunner(run);
  const total = createRunner(run);
  const from = () => {
    const dialect = dialectOf(connection.data()?.db_type);
    const { schema, name } = props.table;
    return [...(schema === null ? [] : [schema]), name].map((part) => quoteName(part, dialect)).join('.');
  };
  const counted = () => Object.values(total.result()?.rows[0] ?? {})[0];
  return (
    <div class="panel-body stack table-sample">
      <div class="row">
        <Button
          size="small"
          icon="table"
          busy={rows.busy()}
          onPress={() => void rows.run(`select * from ${from()} limit ${SAMPLE_ROWS}`)}
        >
          Show sample rows
        </Button>
        <Button size="small" busy={total.busy()} onPress={() => void total.run(`select count(*) as total from ${from()}`)}>
          Count rows
        </Button>
        <span class="small soft num" role="status">
          <Show when={counted() !== undefined}>{`${count(Number(counted()))} ${Number(counted()) === 1 ? 'row' : 'rows'}`}</Show>
        </span>
      </div>
      <Show when={rows.problem() ?? total.problem()}>{(problem) => <Notice tone="bad">{problem().detail}</Notice>}</Show>
      <Show when={rows.result()}>
        {(result) => <ResultView label={`Sample rows of ${props.table.name}`} result={ofPreview(result())} />}
      </Show>
    </div>
  );
}

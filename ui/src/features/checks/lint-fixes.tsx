import type { Tool } from '#core/contract/definitions/tools.ts';
import type { LintFinding } from '#core/contract/lint.ts';
import { Loaded } from '#ui/src/components/show/loaded.tsx';
import { useAct } from '#ui/src/components/use-act.ts';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useUndo } from '#ui/src/components/use-undo.ts';
import { createCatalog } from '#ui/src/features/builder/sql/completion.ts';
import { dialectOf } from '#ui/src/features/builder/sql/scan.ts';
import { asExamples, columnSource } from '#ui/src/features/builder/values/column-values.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { LintNotes } from './lint-notes.tsx';

type Changes = Readonly<Record<string, unknown>>;

/** Lint findings in a stored definition, with fixes that change it at once. */
export function LintFixes(props: { of: LintFinding['entity'] }) {
  const { call, session, toasts } = useKernel();
  const { act } = useAct();
  const undo = useUndo();
  // The definition of a list entry does not change.
  // oxlint-disable-next-line solid/reactivity
  const { kind, id } = props.of;
  const found = useQuery(async (read) => {
    // The record is read first: findings in a newer one end in a conflict.
    const record = await read(`${kind}s.get` as 'tools.get', { id });
    return { record, findings: (await read('lint.list', { owner: `${kind}:${id}`, limit: 500 })).items };
  });

  const save = async ({ name, version }: Tool, changes: Changes) => {
    const after = await act(() => call(`${kind}s.update` as 'tools.update', { id, version, ...changes }));
    if (after !== undefined)
      undo(`${name} changed. Deploy to make it live.`, { type: kind, ids: [id], action: 'update', version: after.version });
  };
  const takeExamples = async (record: Tool, index: number) => {
    const { connection_id, sql_query, parameters } = record;
    const parameter = parameters[index];
    if (parameter === undefined) return;
    const values = await act(async () => {
      const [{ suggested = [] }, { db_type }] = await Promise.all([
        call('preview.tool', { connection_id, sql_query }),
        call('connections.get', { id: connection_id }),
      ]);
      const reader = { call, catalog: createCatalog(call, connection_id), dialect: dialectOf(db_type) };
      const source = columnSource(reader, parameter, suggested.find(({ name }) => name === parameter.name)?.column);
      return source === undefined ? [] : source.load();
    });
    if (values === undefined) return;
    if (values.length === 0)
      toasts.show(`The data has no examples for ${parameter.name}. Write some on the page of the ${kind}.`);
    else
      await save(record, { parameters: parameters.with(index, { ...parameter, examples: [...asExamples(values, parameter)] }) });
  };
  return (
    <Loaded of={found} rows={2} label="Loading findings">
      {(data) => (
        <LintNotes
          findings={data().findings}
          onFix={session.may('tools.update') ? (changes) => save(data().record, changes) : undefined}
          offer={({ rule, field }) => {
            if (rule !== 'parameter-examples' || kind === 'prompt' || !session.may('tools.update')) return undefined;
            const index = Number(field?.split('.')[1]);
            return { label: 'Use values from the data', run: () => takeExamples(data().record, index) };
          }}
        />
      )}
    </Loaded>
  );
}

import type { LintFinding } from '#core/contract/lint.ts';
import { Panel } from '#ui/src/components/panel.tsx';
import { useAct } from '#ui/src/components/use-act.ts';
import { LintNotes, type LintOffer } from '#ui/src/features/checks/lint-notes.tsx';
import type { StatementDraft } from '../statement-draft.ts';
import { asExamples } from '../values/column-values.ts';
import { ParameterTable } from './parameter-table.tsx';

/** The parameters of a statement. */
export function ParametersPanel(props: { draft: StatementDraft }) {
  const { act } = useAct();
  const parameters = () => props.draft.form.values.parameters;
  /** Takes examples from the data for a parameter without any. */
  const takeExamples = async (index: number) => {
    const parameter = parameters()[index];
    const source = parameter && props.draft.statement.sourceOf(parameter);
    const values = source && (await act(() => source.load()));
    if (parameter !== undefined && values !== undefined && values.length > 0)
      props.draft.change({ [`parameters.${index}.examples`]: asExamples(values, parameter) });
  };
  const offerOf = ({ rule }: LintFinding, index: number): LintOffer | undefined => {
    const parameter = parameters()[index];
    const source = rule === 'parameter-examples' && parameter && props.draft.statement.sourceOf(parameter);
    return source ? { label: `Use values of ${source.name}`, run: () => takeExamples(index) } : undefined;
  };
  return (
    <Panel title="Parameters" count={parameters().length} flush>
      <div class="panel-body">
        <ParameterTable
          label="Parameters"
          value={parameters()}
          onChange={(list) => props.draft.form.set('parameters', list)}
          error={(path) => props.draft.error(`parameters.${path}`)}
          used={props.draft.statement.names()}
          notes={(index) => (
            <LintNotes
              findings={props.draft.check.lint(`parameters.${index}`)}
              onFix={(changes) => props.draft.change(changes)}
              offer={(finding) => offerOf(finding, index)}
            />
          )}
          source={(parameter) => props.draft.statement.sourceOf(parameter)}
          suggested={props.draft.check.data()?.suggested}
          empty={
            props.draft.kind === 'tool'
              ? 'Write :name in the statement and its parameter appears here.'
              : 'Write {name} in the URI and its parameter appears here.'
          }
        />
      </div>
    </Panel>
  );
}

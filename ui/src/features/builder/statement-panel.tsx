import { type JSX, Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { CodeEditor } from '#ui/src/components/editor/code-editor.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { LintNotes } from '#ui/src/features/checks/lint-notes.tsx';
import { withMod } from '#ui/src/kernel/keys.ts';
import type { StatementDraft } from './statement-draft.ts';
import { wayOut } from './way-out.tsx';

/** The connection and the SQL. @param before controls above the editor, such as a source for the statement. */
export function StatementPanel(props: { draft: StatementDraft; before?: JSX.Element }) {
  const statement = () => props.draft.statement;
  const form = () => props.draft.form;
  /** An error that is already marked in the statement is not shown twice. */
  const error = () => {
    const found = props.draft.error('sql_query');
    return statement()
      .faults()
      .some(({ message }) => message === found)
      ? undefined
      : found;
  };
  return (
    <Panel
      title="Statement"
      actions={
        <div class="row">
          <Button size="small" onPress={() => statement().format()}>
            Format
          </Button>
          <Show
            when={statement().busy()}
            fallback={
              <Button
                size="small"
                kind="primary"
                icon="play"
                blocked={!statement().ready()}
                title={withMod('Enter')}
                onPress={() => props.draft.run()}
              >
                Run
              </Button>
            }
          >
            <Button size="small" icon="stop" onPress={() => statement().cancel()}>
              Cancel
            </Button>
          </Show>
        </div>
      }
    >
      <Show
        when={props.draft.connections().length > 0}
        fallback={
          <Notice
            tone="warning"
            title="There is no connection yet"
            action={<LinkButton href="/connections">Add a connection</LinkButton>}
          >
            A statement runs on a database. Connect one first.
          </Notice>
        }
      >
        <Select
          label="Connection"
          options={props.draft.connections().map(({ id, name, db_type }) => ({ value: id, label: name, hint: db_type }))}
          value={form().values.connection_id}
          onChange={(id: string) => form().set('connection_id', id)}
          error={props.draft.error('connection_id')}
        />
      </Show>
      {props.before}
      <CodeEditor
        label="SQL"
        value={form().values.sql_query}
        onInput={(sql) => form().set('sql_query', sql)}
        onReady={(editor) => statement().attach(editor)}
        language={statement().language()}
        faults={statement().faults()}
        error={error()}
        hint={`Write parameters as :name. Sluice leaves out [[ and … :name ]] when the parameter has no value. ${withMod('Enter')} runs the statement.`}
        placeholder="select …"
        lines={8}
        onRun={() => props.draft.run()}
        onSave={() => void form().submit()}
        onFormat={() => void statement().format()}
      />
      <Show when={props.draft.check.error('read_only')}>
        {(sentence) => (
          <Notice tone="warning" action={wayOut(props.draft, props.draft.check.problem())}>
            {sentence()}
          </Notice>
        )}
      </Show>
      <LintNotes findings={props.draft.check.lint('sql_query')} onFix={(changes) => props.draft.change(changes)} />
    </Panel>
  );
}

import { withMod } from '#ui/src/kernel/keys.ts';
import { type JSX, Show } from 'solid-js';
import type { Connection } from '#core/contract/definitions/connections.ts';
import { Button } from '#ui/src/components/button.tsx';
import { CodeEditor } from '#ui/src/components/editor/code-editor.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import type { Statement } from './use-statement.ts';

interface StatementPanelProps {
  statement: Statement;
  connections: readonly Connection[];
  connection_id: string;
  onConnection: (id: string) => void;
  connection_error: string | undefined;
  sql: string;
  onSql: (sql: string) => void;
  sql_error: string | undefined;
  onRun: () => void;
  onSave: () => void;
  /** Below the editor: what is found in the statement. */
  notes?: JSX.Element;
  /** Above the editor: where the statement can come from. */
  before?: JSX.Element;
}

/** The database and the SQL. */
export function StatementPanel(props: StatementPanelProps) {
  const faults = () => props.statement.faults();
  /** A refusal that is already shown at its place is not shown twice. */
  const error = () => (faults().some(({ message }) => message === props.sql_error) ? undefined : props.sql_error);
  return (
    <Panel
      title="Statement"
      actions={
        <div class="row">
          <Button size="small" onPress={() => props.statement.format()}>
            Format
          </Button>
          <Show
            when={props.statement.busy()}
            fallback={
              <Button
                size="small"
                kind="primary"
                icon="play"
                blocked={props.connection_id === '' || props.sql.trim() === ''}
                title={withMod('Enter')}
                onPress={() => props.onRun()}
              >
                Run
              </Button>
            }
          >
            <Button size="small" icon="stop" onPress={() => props.statement.cancel()}>
              Cancel
            </Button>
          </Show>
        </div>
      }
    >
      <Show
        when={props.connections.length > 0}
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
          options={props.connections.map(({ id, name, db_type }) => ({ value: id, label: name, hint: db_type }))}
          value={props.connection_id}
          onChange={(id: string) => props.onConnection(id)}
          error={props.connection_error}
        />
      </Show>
      {props.before}
      <CodeEditor
        label="SQL"
        value={props.sql}
        onInput={(sql) => props.onSql(sql)}
        language={props.statement.language()}
        faults={faults()}
        error={error()}
        hint={`Write parameters as :name. Sluice leaves out [[ and … :name ]] when the parameter has no value. ${withMod('Enter')} runs the statement.`}
        placeholder="select …"
        lines={8}
        onRun={() => props.onRun()}
        onSave={() => props.onSave()}
        onFormat={() => void props.statement.format()}
      />
      {props.notes}
    </Panel>
  );
}

import { createMemo, type JSX } from 'solid-js';
import type { Connection } from '#core/contract/definitions/connections.ts';
import type { Output, RawInput } from '#core/contract/index.ts';
import type { View } from '#core/contract/definitions/view.ts';
import type { ToolDraft } from '#core/contract/definitions/tools.ts';
import { Panel } from '#ui/src/components/panel.tsx';
import { lintOf } from '#ui/src/features/checks/lint-of.tsx';
import { LintNotes } from '#ui/src/features/checks/lint-notes.tsx';
import { testsOf } from '#ui/src/features/tests/tests-of.tsx';
import { focusInvalid } from '#ui/src/components/form/focus-invalid.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import type { Form, Path } from '#ui/src/kernel/form/form.ts';
import { useAdministered } from '#ui/src/fields/administered.ts';
import { AboutPanel } from './about-panel.tsx';
import { BuilderFrame } from './builder-frame.tsx';
import { ModelView, PlanPane, ScriptView } from './lazy-views.tsx';
import { MasksPanel } from './masks-panel.tsx';
import { ParameterTable } from './parameters/parameter-table.tsx';
import { trimmed } from './parameters/parameters.ts';
import { PreviewPane } from './preview-pane.tsx';
import { StatementPanel } from './statement-panel.tsx';
import { TemplatePanel } from './template-panel.tsx';
import type { Builder } from './use-builder.ts';
import { useDraftCheck } from './use-draft-check.ts';
import { type Statement, useStatement } from './use-statement.ts';

/** What a tool and a resource have in common. */
type StatementDraft = Pick<
  ToolDraft,
  | 'connection_id'
  | 'name'
  | 'title'
  | 'description'
  | 'tags'
  | 'enabled'
  | 'sql_query'
  | 'parameters'
  | 'transform_template'
  | 'masks'
>;
type Checked = Output<'preview.tool'> | Output<'preview.resource'>;
/** The sentence for a field: what the form or the server says of it. */
export type ErrorOf<D> = (path: Path<D>) => string | undefined;

interface StatementBuilderProps<D extends StatementDraft, I> {
  kind: 'tool' | 'resource';
  builder: Builder<D>;
  /** Absent while it is new. */
  stored: { readonly id: string; readonly name: string } | undefined;
  connections: readonly Connection[];
  /** Every tag that is in use. */
  tags: readonly string[];
  /** What the server is asked about a draft; undefined: it is not ready to be checked. */
  asked: (draft: D) => I | undefined;
  check: (input: I, signal: AbortSignal) => Promise<Checked>;
  /** Parameters are named elsewhere, and not in the statement. */
  named?: () => readonly string[];
  /** What the result becomes for a model. */
  becomes: () => Pick<RawInput<'preview.execute'>, 'return_type' | 'text_format' | 'mime_type'>;
  /** How clients draw the result. */
  view?: () => View | null;
  no_parameters: string;
  template: string;
  lead?: string;
  hints?: Partial<Readonly<Record<'name' | 'description', string>>>;
  /** Where the statement can come from. */
  before?: JSX.Element;
  /** Above the statement, in the panel of the result, and at the end. */
  first?: (error: ErrorOf<D>) => JSX.Element;
  result?: (error: ErrorOf<D>, statement: Statement) => JSX.Element;
  last?: (error: ErrorOf<D>, statement: Statement) => JSX.Element;
}

/** What the server is asked about every draft with a statement. */
export const askedOf = (draft: StatementDraft) => ({
  connection_id: draft.connection_id,
  name: draft.name,
  title: draft.title,
  description: draft.description,
  tags: draft.tags,
  sql_query: draft.sql_query,
  parameters: draft.parameters.map(trimmed),
  transform_template: draft.transform_template,
  masks: draft.masks.filter(({ column }) => column !== ''),
});

/** One tool or resource, from its statement to what a model sees of it. */
export function StatementBuilder<D extends StatementDraft, I>(props: StatementBuilderProps<D, I>) {
  // A page is made anew for another record.
  // oxlint-disable-next-line solid/reactivity
  const { builder, kind } = props;
  const { session } = useKernel();
  const form: Omit<Form<StatementDraft>, 'changed'> = builder.form;
  const ready = () => form.values.connection_id !== '' && form.values.sql_query.trim() !== '';
  const check = useDraftCheck({
    watch: () => (ready() ? props.asked(builder.form.values) : undefined),
    async load(signal) {
      const input = ready() ? props.asked(builder.form.snapshot()) : undefined;
      return input === undefined ? undefined : props.check(input, signal);
    },
    sql: () => form.values.sql_query,
    schema: builder.form.schema,
  });
  const errorOf: ErrorOf<D> = (path) => builder.form.error(path) ?? check.error(path);
  const error = (path: Path<StatementDraft>) => form.error(path) ?? check.error(path);
  const notes = (path: string) => <LintNotes findings={check.lint(path)} onFix={(changes) => builder.change(changes)} />;

  // A draft that is refused for another field still writes.
  const writes = createMemo((before: boolean) => {
    const found = check.data();
    return found !== undefined && 'read_only' in found && found.read_only !== undefined ? !found.read_only : before;
  }, false);

  const statement = useStatement({
    connections: () => props.connections,
    connection_id: () => form.values.connection_id,
    sql: () => form.values.sql_query,
    setSql: (sql) => form.set('sql_query', sql),
    parameters: () => form.values.parameters,
    // A page is made anew once the record is saved.
    // oxlint-disable-next-line solid/reactivity
    fresh: props.stored === undefined,
    setParameters: (parameters) => form.set('parameters', parameters),
    // Whether they stand in the statement does not change with a record.
    // oxlint-disable-next-line solid/reactivity
    ...(props.named === undefined ? {} : { named: props.named }),
    suggested: () => check.data()?.suggested,
    writes,
    masks: () => form.values.masks,
    template: () => form.values.transform_template,
    becomes: () => props.becomes(),
    refused: check.refused,
    approved: check.approved,
  });
  /** What is checked still may suggest the types of new parameters: they are saved with them. */
  const submit = async (event?: Event): Promise<boolean> => {
    event?.preventDefault();
    const element = event?.currentTarget instanceof HTMLElement ? event.currentTarget : undefined;
    await check.settle();
    // It ended while that was asked: who signs in again decides anew what is saved.
    if (session.state() !== 'signed_in') return false;
    const is_saved = await builder.form.submit();
    if (!is_saved) void focusInvalid(element);
    return is_saved;
  };
  const run = () => {
    builder.preview();
    void statement.run();
  };
  const administered = useAdministered(builder.form.schema, 'masks');
  const template_faults = createMemo(() =>
    check.faultsOf('transform_template', form.values.transform_template ?? '', statement.result()?.transform_error),
  );

  return (
    <BuilderFrame
      form={{ ...builder.form, submit }}
      fresh={props.stored === undefined}
      save={props.stored === undefined ? `Create ${kind}` : `Save ${kind}`}
      side={builder.side()}
      onSide={builder.setSide}
      onRun={run}
      reveal={builder.reveal()}
      preview={() => (
        <PreviewPane
          statement={statement}
          ready={ready()}
          view={props.view?.()}
          stored={props.stored === undefined ? undefined : { kind, id: props.stored.id, name: props.stored.name }}
        />
      )}
      plan={() => <PlanPane statement={statement} ready={ready()} />}
      model={() => <ModelView checked={check.data()} problem={check.problem()} pending={check.pending()} />}
      script={() => <ScriptView {...builder.request()} />}
      tests={testsOf(kind, props.stored)}
      findings={lintOf(kind, props.stored)}
    >
      {props.first?.(errorOf)}
      <StatementPanel
        statement={statement}
        connections={props.connections}
        connection_id={form.values.connection_id}
        onConnection={(id) => form.set('connection_id', id)}
        connection_error={error('connection_id')}
        sql={form.values.sql_query}
        onSql={(sql) => form.set('sql_query', sql)}
        sql_error={error('sql_query')}
        onRun={run}
        onSave={() => void submit()}
        notes={notes('sql_query')}
        before={props.before}
      />
      <Panel title="Parameters" count={form.values.parameters.length} flush>
        <div class="panel-body">
          <ParameterTable
            label="Parameters"
            value={form.values.parameters}
            onChange={(parameters) => form.set('parameters', parameters)}
            error={(path) => error(`parameters.${path}`)}
            used={statement.names()}
            notes={(place) => notes(`parameters.${place}`)}
            suggested={check.data()?.suggested}
            empty={props.no_parameters}
          />
        </div>
      </Panel>
      <TemplatePanel
        switch={props.template}
        value={form.values.transform_template}
        onChange={(template) => form.set('transform_template', template)}
        statement={statement}
        error={error('transform_template')}
        faults={template_faults()}
        onRun={run}
        onSave={() => void submit()}
      >
        {props.result?.(errorOf, statement)}
      </TemplatePanel>
      <MasksPanel
        fixed={administered()}
        value={form.values.masks}
        onChange={(masks) => form.set('masks', masks)}
        columns={statement.result()?.columns ?? []}
        error={(path) => error(path === '' ? 'masks' : `masks.${path}`)}
      />
      <AboutPanel
        form={builder.form}
        error={error}
        notes={notes}
        tags={props.tags}
        title={`About the ${kind}`}
        {...(props.lead === undefined ? {} : { lead: props.lead })}
        {...(props.hints === undefined ? {} : { hints: props.hints })}
      />
      {props.last?.(errorOf, statement)}
    </BuilderFrame>
  );
}

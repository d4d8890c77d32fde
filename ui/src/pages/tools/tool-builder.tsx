import { createMemo, type JSX } from 'solid-js';
import type { Connection } from '#core/contract/definitions/connections.ts';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import { type Tool, ToolDraft } from '#core/contract/definitions/tools.ts';
import { AboutPanel } from '#ui/src/features/builder/about-panel.tsx';
import { BuilderFrame } from '#ui/src/features/builder/builder-frame.tsx';
import { MasksPanel } from '#ui/src/features/builder/masks-panel.tsx';
import { ModelView, ScriptView } from '#ui/src/features/builder/model-view.tsx';
import { ParameterTable } from '#ui/src/features/builder/parameter-table.tsx';
import { PreviewPane } from '#ui/src/features/builder/preview-pane.tsx';
import { StatementPanel } from '#ui/src/features/builder/statement-panel.tsx';
import { useBuilder } from '#ui/src/features/builder/use-builder.ts';
import { ownId, useDraftCheck } from '#ui/src/features/builder/use-draft-check.ts';
import { useStatement } from '#ui/src/features/builder/use-statement.ts';
import { BUILDER_WORDS } from '#ui/src/features/builder/words.ts';
import { testsOf } from '#ui/src/features/tests/tests-of.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { toToolDraft } from '#ui/src/features/builder/drafts.ts';
import { trimmed } from '#ui/src/features/builder/parameters.ts';
import type { Path } from '#ui/src/kernel/form/form.ts';
import { LintNotes } from '#ui/src/features/checks/lint-notes.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { LimitsPanel, ResultPanel } from './tool-fields.tsx';

interface ToolBuilderProps {
  connections: readonly Connection[];
  /** Every tag that is in use. */
  tags: readonly string[];
  initial: ToolDraft;
  /** The stored tool; absent while it is new. */
  tool?: Tool | undefined;
  onSaved: (tool: Tool) => void;
  /** Where the statement can come from. */
  before?: JSX.Element;
}

/** One tool, from its statement to what a model sees of it. */
export function ToolBuilder(props: ToolBuilderProps) {
  const { call } = useKernel();
  const builder = useBuilder<ToolDraft, Tool>({
    noun: 'tools',
    schema: ToolDraft,
    initial: () => props.initial,
    stored: () => props.tool,
    unsaved: 'Changes to this tool are not saved.',
    draftOf: toToolDraft,
    clean: (draft) => ({ ...draft, parameters: draft.parameters.map(trimmed) }),
    create: (draft) => call('tools.create', draft),
    update: (change) => call('tools.update', change),
    read: (id) => call('tools.get', { id }),
    example: ['description', 'sql_query', 'parameters'],
    onSaved: (saved) => props.onSaved(saved),
  });
  const { form, save } = builder;

  const check = useDraftCheck({
    watch: () => [
      form.values.connection_id,
      form.values.name,
      form.values.title,
      form.values.description,
      form.values.sql_query,
      JSON.stringify(form.values.parameters),
      form.values.return_type,
      form.values.transform_template,
      JSON.stringify(form.values.masks),
      form.values.read_only,
      JSON.stringify(form.values.annotations),
    ],
    async load(signal) {
      const { connection_id, name, title, description, sql_query, parameters, ...rest } = form.snapshot();
      const { return_type, transform_template, read_only, annotations, tags, masks } = rest;
      if (connection_id === '' || sql_query.trim() === '') return undefined;
      const about = { name, title, description, tags };
      const query = {
        connection_id,
        sql_query,
        parameters: parameters.map(trimmed),
        transform_template,
        masks: masks.filter(({ column }) => column !== ''),
      };
      return call('preview.tool', { ...ownId(props.tool), ...about, ...query, return_type, read_only, annotations }, signal);
    },
    sql: () => form.values.sql_query,
  });
  const error = (path: Path<ToolDraft>) => form.error(path) ?? check.error(path);
  const notes = (path: string) => <LintNotes findings={check.lint(path)} onFix={(changes) => builder.change(changes)} />;

  const statement = useStatement({
    connections: () => props.connections,
    connection_id: () => form.values.connection_id,
    sql: () => form.values.sql_query,
    setSql: (sql) => form.set('sql_query', sql),
    parameters: () => form.values.parameters,
    setParameters: (parameters) => form.set('parameters', parameters),
    suggested: () => check.data()?.suggested,
    writes: () => check.data()?.read_only === false,
    masks: () => form.values.masks,
    template: () => form.values.transform_template,
    becomes: () => ({ return_type: form.values.return_type }),
    refused: check.refused,
    approved: check.approved,
  });
  const run = () => {
    builder.preview();
    void statement.run();
  };
  const template_faults = createMemo(() =>
    check.faultsOf('transform_template', form.values.transform_template ?? '', statement.result()?.transform_error),
  );

  return (
    <BuilderFrame
      form={form}
      fresh={props.tool === undefined}
      save={props.tool === undefined ? 'Create tool' : 'Save tool'}
      side={builder.side()}
      onSide={builder.setSide}
      onRun={run}
      reveal={builder.reveal()}
      preview={() => (
        <PreviewPane
          statement={statement}
          ready={form.values.connection_id !== '' && form.values.sql_query.trim() !== ''}
          stored={props.tool === undefined ? undefined : { kind: 'tool', id: props.tool.id, name: props.tool.name }}
        />
      )}
      model={() => <ModelView judged={check.data()} problem={check.problem()} pending={check.pending()} />}
      script={() => <ScriptView {...builder.snippets()} />}
      tests={testsOf('tool', props.tool)}
    >
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
        onSave={save}
        notes={notes('sql_query')}
        before={props.before}
      />
      <Panel title={BUILDER_WORDS.parameters} count={form.values.parameters.length}>
        <div class="panel-body">
          <ParameterTable
            label={BUILDER_WORDS.parameters}
            value={form.values.parameters}
            onChange={(parameters: Parameter[]) => form.set('parameters', parameters)}
            error={(path) => error(`parameters.${path}`)}
            used={statement.names()}
            notes={(place) => notes(`parameters.${place}`)}
            suggested={check.data()?.suggested}
            empty="Write :name in the statement and its parameter appears here."
          />
        </div>
      </Panel>
      <ResultPanel form={form} statement={statement} error={error} faults={template_faults()} onRun={run} onSave={save} />
      <MasksPanel
        value={form.values.masks}
        onChange={(masks) => form.set('masks', masks)}
        columns={statement.result()?.columns ?? []}
        error={(path) => error(path === '' ? 'masks' : `masks.${path}`)}
      />
      <AboutPanel
        form={form}
        error={error}
        notes={notes}
        tags={props.tags}
        title="About the tool"
        lead="A model decides from these texts whether to call the tool."
      />
      <LimitsPanel form={form} statement={statement} error={error} />
    </BuilderFrame>
  );
}

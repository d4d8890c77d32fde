import { createMemo, createSignal, Show } from 'solid-js';
import type { Connection } from '#core/contract/definitions/connections.ts';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import { type Resource, ResourceDraft } from '#core/contract/definitions/resources.ts';
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
import { Switch } from '#ui/src/components/form/choice.tsx';
import { Combobox } from '#ui/src/components/form/combobox.tsx';
import { CodeEditor } from '#ui/src/components/editor/code-editor.tsx';
import { FormField } from '#ui/src/fields/form-field.tsx';
import { testsOf } from '#ui/src/features/tests/tests-of.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { toResourceDraft, uriVariables } from '#ui/src/features/builder/drafts.ts';
import { trimmed } from '#ui/src/features/builder/parameters.ts';
import type { Path } from '#ui/src/kernel/form/form.ts';
import { LintNotes } from '#ui/src/features/checks/lint-notes.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { MIME_TYPES, RESOURCE_WORDS as WORDS } from './words.ts';

interface ResourceBuilderProps {
  connections: readonly Connection[];
  tags: readonly string[];
  initial: ResourceDraft;
  /** The stored resource; absent while it is new. */
  resource?: Resource | undefined;
  onSaved: (resource: Resource) => void;
}

/** One resource: an address, a statement behind it, and the body that it gives. */
export function ResourceBuilder(props: ResourceBuilderProps) {
  const { call } = useKernel();
  const [templated, setTemplated] = createSignal(false);
  const builder = useBuilder<ResourceDraft, Resource>({
    noun: 'resources',
    schema: ResourceDraft,
    initial: () => props.initial,
    stored: () => props.resource,
    unsaved: 'Changes to this resource are not saved.',
    draftOf: toResourceDraft,
    clean: (draft) => ({ ...draft, parameters: draft.parameters.map(trimmed) }),
    create: (draft) => call('resources.create', draft),
    update: (change) => call('resources.update', change),
    read: (id) => call('resources.get', { id }),
    example: ['description', 'uri_template', 'sql_query'],
    onSaved: (saved) => props.onSaved(saved),
  });
  const { form, save } = builder;

  const check = useDraftCheck({
    watch: () => [
      form.values.connection_id,
      form.values.name,
      form.values.title,
      form.values.description,
      form.values.uri_template,
      form.values.sql_query,
      JSON.stringify(form.values.parameters),
      form.values.mime_type,
      form.values.transform_template,
      JSON.stringify(form.values.masks),
    ],
    async load(signal) {
      const { enabled: _enabled, parameters, masks, ...draft } = form.snapshot();
      if (draft.connection_id === '' || draft.sql_query.trim() === '' || draft.uri_template.length < 3) return undefined;
      return call(
        'preview.resource',
        {
          ...ownId(props.resource),
          ...draft,
          parameters: parameters.map(trimmed),
          masks: masks.filter(({ column }) => column !== ''),
        },
        signal,
      );
    },
    sql: () => form.values.sql_query,
  });
  const error = (path: Path<ResourceDraft>) => form.error(path) ?? check.error(path);
  const notes = (path: string) => <LintNotes findings={check.lint(path)} onFix={(changes) => builder.change(changes)} />;

  const statement = useStatement({
    connections: () => props.connections,
    connection_id: () => form.values.connection_id,
    sql: () => form.values.sql_query,
    setSql: (sql) => form.set('sql_query', sql),
    parameters: () => form.values.parameters,
    setParameters: (parameters) => form.set('parameters', parameters),
    named: () => uriVariables(form.values.uri_template),
    suggested: () => check.data()?.suggested,
    writes: () => false,
    masks: () => form.values.masks,
    template: () => form.values.transform_template,
    becomes: () => ({ mime_type: form.values.mime_type }),
    refused: check.refused,
    approved: check.approved,
  });
  const run = () => {
    builder.preview();
    void statement.run();
  };
  const shown = () => templated() || (form.values.transform_template ?? '') !== '';
  const template_faults = createMemo(() =>
    check.faultsOf('transform_template', form.values.transform_template ?? '', statement.result()?.transform_error),
  );

  return (
    <BuilderFrame
      form={form}
      fresh={props.resource === undefined}
      save={props.resource === undefined ? 'Create resource' : 'Save resource'}
      side={builder.side()}
      onSide={builder.setSide}
      onRun={run}
      reveal={builder.reveal()}
      preview={() => (
        <PreviewPane
          statement={statement}
          ready={form.values.connection_id !== '' && form.values.sql_query.trim() !== ''}
          stored={
            props.resource === undefined ? undefined : { kind: 'resource', id: props.resource.id, name: props.resource.name }
          }
        />
      )}
      model={() => <ModelView judged={check.data()} problem={check.problem()} pending={check.pending()} />}
      script={() => <ScriptView {...builder.snippets()} />}
      tests={testsOf('resource', props.resource)}
    >
      <Panel
        title="Address"
        lead="A resource with variables is listed as a template; its variables are the parameters of the statement."
      >
        <div class="panel-body grid-2">
          <FormField form={form} name="uri_template" placeholder="shop://orders/{id}" error={error('uri_template')} />
          <Combobox
            label={WORDS.mime}
            free
            hint="Decides the body: JSON rows, CSV, text, or the bytes of the first cell."
            options={MIME_TYPES}
            value={form.values.mime_type}
            onChange={(value) => form.set('mime_type', value ?? 'application/json')}
            error={error('mime_type')}
          />
        </div>
      </Panel>
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
            empty={'Write {name} in the URI and its parameter appears here.'}
          />
        </div>
      </Panel>
      <Panel title="Result">
        <div class="panel-body stack">
          <Switch
            label="Write the body with a template"
            checked={shown()}
            onChange={(on_now) => {
              setTemplated(on_now);
              if (!on_now) form.set('transform_template', null);
            }}
          />
          <Show when={shown()}>
            <CodeEditor
              label={BUILDER_WORDS.template}
              value={form.values.transform_template ?? ''}
              onInput={(text) => form.set('transform_template', text === '' ? null : text)}
              language={statement.template_language()}
              faults={template_faults()}
              error={template_faults().length > 0 ? undefined : error('transform_template')}
              hint={BUILDER_WORDS.template_hint}
              placeholder={BUILDER_WORDS.template_placeholder}
              onRun={run}
              onSave={save}
            />
          </Show>
        </div>
      </Panel>
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
        title="About the resource"
        hints={{ name: 'Letters, digits, _ and -.', description: 'What it holds and when to read it.' }}
      />
    </BuilderFrame>
  );
}

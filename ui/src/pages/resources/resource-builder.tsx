import { createEffect, createMemo, createSignal, on, Show } from 'solid-js';
import type { Connection } from '#core/contract/connections.ts';
import type { Parameter } from '#core/contract/parameters.ts';
import { type Resource, ResourceDraft } from '#core/contract/resources.ts';
import { AboutPanel } from '#ui/src/components/builder/about-panel.tsx';
import { BuilderFrame } from '#ui/src/components/builder/builder-frame.tsx';
import { ModelView, ScriptView } from '#ui/src/components/builder/model-view.tsx';
import { ParameterTable } from '#ui/src/components/builder/parameter-table.tsx';
import { PreviewPane } from '#ui/src/components/builder/preview-pane.tsx';
import { StatementPanel } from '#ui/src/components/builder/statement-panel.tsx';
import { useBuilder } from '#ui/src/components/builder/use-builder.ts';
import { useDraftCheck } from '#ui/src/components/builder/use-draft-check.ts';
import { useStatement } from '#ui/src/components/builder/use-statement.ts';
import { BUILDER_WORDS } from '#ui/src/components/builder/words.ts';
import { Switch } from '#ui/src/components/choice.tsx';
import { Combobox } from '#ui/src/components/combobox.tsx';
import { CodeEditor } from '#ui/src/components/editor/code-editor.tsx';
import { TextField } from '#ui/src/components/field.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { toResourceDraft, uriVariables } from '#ui/src/kernel/builder-drafts.ts';
import { followStatement, trimmed } from '#ui/src/kernel/builder-parameters.ts';
import type { Path } from '#ui/src/kernel/form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { MIME_TYPES, RESOURCE_LABELS, RESOURCE_WORDS as WORDS } from './words.ts';

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
    labels: RESOURCE_LABELS,
    unsaved: WORDS.unsaved,
    draftOf: toResourceDraft,
    clean: (draft) => ({ ...draft, parameters: draft.parameters.map(trimmed) }),
    create: (draft) => call('resources.create', draft),
    update: (change) => call('resources.update', change),
    read: (id) => call('resources.get', { id }),
    example: ['description', 'uri_template', 'sql_query'],
    onSaved: (saved) => props.onSaved(saved),
  });
  const { form, save } = builder;

  // The variables of the address are the parameters, in its order; what was written about one of them is kept.
  createEffect(
    on(
      () => form.values.uri_template,
      (uri) => {
        const before = form.values.parameters;
        const names = uriVariables(uri);
        const after = followStatement(before, names, new Set()).filter(({ name }) => names.includes(name));
        const ordered = names.flatMap((name) => after.find((parameter) => parameter.name === name) ?? []);
        if (ordered.length !== before.length || ordered.some((one, place) => one !== before[place]))
          form.set('parameters', ordered);
      },
      { defer: true },
    ),
  );

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
    ],
    async load(signal) {
      const { enabled: _enabled, parameters, ...draft } = form.snapshot();
      if (draft.connection_id === '' || draft.sql_query.trim() === '' || draft.uri_template.length < 3) return undefined;
      return call('preview.resource', { ...draft, parameters: parameters.map(trimmed) }, signal);
    },
    sql: () => form.values.sql_query,
  });
  const error = (path: Path<ResourceDraft>) => form.error(path) ?? check.error(path);

  const statement = useStatement({
    connections: () => props.connections,
    connection_id: () => form.values.connection_id,
    sql: () => form.values.sql_query,
    setSql: (sql) => form.set('sql_query', sql),
    parameters: () => form.values.parameters,
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
      save={props.resource === undefined ? WORDS.create : WORDS.save}
      side={builder.side()}
      onSide={builder.setSide}
      onRun={run}
      reveal={builder.reveal()}
      preview={() => (
        <PreviewPane statement={statement} ready={form.values.connection_id !== '' && form.values.sql_query.trim() !== ''} />
      )}
      model={() => <ModelView judged={check.data()} problem={check.problem()} pending={check.pending()} />}
      script={() => <ScriptView {...builder.snippets()} />}
    >
      <Panel title={WORDS.address} lead={WORDS.address_lead}>
        <div class="panel-body grid-2">
          <TextField
            label={WORDS.uri}
            required
            mono
            hint={WORDS.uri_hint}
            placeholder="shop://orders/{id}"
            {...form.text('uri_template')}
            error={error('uri_template')}
          />
          <Combobox
            label={WORDS.mime}
            free
            hint={WORDS.mime_hint}
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
      />
      <Panel title={BUILDER_WORDS.parameters} count={form.values.parameters.length}>
        <div class="panel-body">
          <ParameterTable
            label={BUILDER_WORDS.parameters}
            value={form.values.parameters}
            onChange={(parameters: Parameter[]) => form.set('parameters', parameters)}
            error={(path) => error(`parameters.${path}`)}
            used={statement.names()}
            empty={WORDS.no_variables}
          />
        </div>
      </Panel>
      <Panel title={WORDS.result}>
        <div class="panel-body stack">
          <Switch
            label={WORDS.use_template}
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
      <AboutPanel form={form} error={error} tags={props.tags} words={WORDS} />
    </BuilderFrame>
  );
}

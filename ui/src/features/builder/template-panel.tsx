import { createMemo, createSignal, type JSX, Show } from 'solid-js';
import { CodeEditor } from '#ui/src/components/editor/code-editor.tsx';
import { Switch } from '#ui/src/components/form/choice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import type { StatementDraft } from './statement-draft.ts';

/** How the rows are converted. */
export function TemplatePanel(props: { draft: StatementDraft; children?: JSX.Element }) {
  const [opened, setOpened] = createSignal(false);
  const template = () => props.draft.form.values.transform_template ?? '';
  const set = (text: string) => props.draft.form.set('transform_template', text === '' ? null : text);
  const shown = () => opened() || template() !== '';
  const toggle = (on: boolean) => {
    setOpened(on);
    if (!on) set('');
  };
  const error = () => props.draft.error('transform_template');
  const faults = createMemo(() =>
    props.draft.check.faultsOf('transform_template', template(), props.draft.statement.result()?.transform_error),
  );
  return (
    <Panel title="Result">
      {props.children}
      <Switch
        label={props.draft.kind === 'tool' ? 'Transform the result with a template' : 'Write the body with a template'}
        checked={shown()}
        onChange={toggle}
      />
      <Show when={shown()}>
        <CodeEditor
          label="Transform"
          value={template()}
          onInput={set}
          language={props.draft.statement.template_language()}
          faults={faults()}
          error={faults().some(({ message }) => message === error()) ? undefined : error()}
          hint="The template can use rows, params, vars and caller. JSON output becomes structured content, any other output text."
          placeholder={'{% for row in rows %}\n- {{ row.name }}\n{% endfor %}'}
          onRun={() => props.draft.run()}
          onSave={() => void props.draft.form.submit()}
        />
      </Show>
    </Panel>
  );
}

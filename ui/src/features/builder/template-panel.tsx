import { createSignal, type JSX, Show } from 'solid-js';
import { CodeEditor, type Fault } from '#ui/src/components/editor/code-editor.tsx';
import { Switch } from '#ui/src/components/form/choice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import type { Statement } from './use-statement.ts';

/** What the rows become. */
export function TemplatePanel(props: {
  /** The label of the switch that opens the template. */
  switch: string;
  value: string | null;
  onChange: (template: string | null) => void;
  statement: Statement;
  error: string | undefined;
  faults: readonly Fault[];
  onRun: () => void;
  onSave: () => void;
  children?: JSX.Element;
}) {
  const [opened, setOpened] = createSignal(false);
  const shown = () => opened() || (props.value ?? '') !== '';
  const toggle = (on: boolean) => {
    setOpened(on);
    if (!on) props.onChange(null);
  };
  return (
    <Panel title="Result">
      {props.children}
      <Switch label={props.switch} checked={shown()} onChange={toggle} />
      <Show when={shown()}>
        <CodeEditor
          label="Transform"
          value={props.value ?? ''}
          onInput={(text) => props.onChange(text === '' ? null : text)}
          language={props.statement.template_language()}
          faults={props.faults}
          error={props.faults.some(({ message }) => message === props.error) ? undefined : props.error}
          hint="The template can use rows, params, vars and caller. JSON output becomes structured content, any other output text."
          placeholder={'{% for row in rows %}\n- {{ row.name }}\n{% endfor %}'}
          onRun={() => props.onRun()}
          onSave={() => props.onSave()}
        />
      </Show>
    </Panel>
  );
}

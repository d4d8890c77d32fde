import { createEffect, createSignal, on } from 'solid-js';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import { TextArea } from '#ui/src/components/form/field.tsx';
import { same } from '#ui/src/kernel/form/merge.ts';
import { parseExamples, writeExamples } from './examples.ts';

/** Values that the model sees in the schema. What is not of the type is kept as it was typed; saving it is refused. */
export function ExamplesField(props: {
  parameter: Parameter;
  error: string | undefined;
  onChange: (examples: unknown[]) => void;
}) {
  const [typed, setTyped] = createSignal('');
  const [fault, setFault] = createSignal<string>();
  createEffect(
    on(
      () => [props.parameter.examples, props.parameter.type] as const,
      ([examples]) => {
        if (same(examples ?? [], parseExamples(typed(), props.parameter).values)) return;
        setTyped(writeExamples(examples ?? [], props.parameter));
        setFault(undefined);
      },
    ),
  );
  const take = (text: string) => {
    setTyped(text);
    const parsed = parseExamples(text, props.parameter);
    setFault(parsed.fault);
    props.onChange([...parsed.values]);
  };
  return (
    <TextArea
      label="Examples"
      mono
      rows={2}
      value={typed()}
      onInput={take}
      hint="One per line, shown to the model. Lists and objects as JSON."
      error={fault() ?? props.error}
    />
  );
}

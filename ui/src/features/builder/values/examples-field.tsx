import type { Parameter } from '#core/contract/definitions/parameters.ts';
import { TypedField } from '#ui/src/components/form/typed-field.tsx';
import { parseExamples, writeExamples } from './examples.ts';

/** Values that the model sees in the schema. */
export function ExamplesField(props: { parameter: Parameter; error: string | undefined; onChange: (examples: unknown) => void }) {
  return (
    <TypedField
      label="Examples"
      rows={2}
      value={props.parameter.examples ?? []}
      write={(examples) => writeExamples(examples, props.parameter)}
      read={(text) => parseExamples(text, props.parameter)}
      onChange={props.onChange}
      hint="One per line, shown to the model. Lists and objects as JSON."
      error={props.error}
    />
  );
}

import type { Parameter } from '#core/contract/definitions/parameters.ts';
import { TypedField } from '#ui/src/components/form/typed-field.tsx';
import { parseEntry, writeEntry } from '#ui/src/features/run/arguments.ts';

/** The value of a parameter that is not sent. */
export function DefaultField(props: {
  label: string;
  parameter: Parameter;
  error: string | undefined;
  onChange: (value: unknown) => void;
}) {
  const read = (text: string) => {
    if (text === '') return { value: undefined };
    // Elements of an array are parted by commas here: there is one line.
    const lines = props.parameter.type === 'array' && !text.startsWith('[') ? text.replaceAll(',', '\n') : text;
    return { value: text, ...parseEntry(lines, props.parameter) };
  };
  return (
    <TypedField
      label={props.label}
      hide_label
      value={props.parameter.default}
      write={(value) => (writeEntry(value) ?? '').replaceAll('\n', ', ')}
      read={read}
      onChange={props.onChange}
      placeholder={props.parameter.default === '' ? 'Empty text' : 'No default'}
      error={props.error}
    />
  );
}

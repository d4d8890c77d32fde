import { Show } from 'solid-js';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { FILLED_BY, filledBy, type FilledBy } from './parameters.ts';

/** Default names of a claim and a variable. */
const NAMES: Partial<Readonly<Record<FilledBy, string>>> = { 'caller.claims.': 'tenant_id', 'vars.': 'region' };

const CALLERS = FILLED_BY.filter(({ value }) => value !== '');

/** The source of a value: the model can fill parameters, but not session values. */
export function SourceField(props: {
  label: string;
  value: string;
  onChange: (from: string) => void;
  /** The model does not fill it. */
  caller_only?: boolean;
  error: string | undefined;
}) {
  const chosen = () => filledBy(props.value);
  const named = () => (chosen().endsWith('.') ? chosen() : undefined);
  const options = () => (props.caller_only === true ? CALLERS : FILLED_BY);
  return (
    <>
      <Select
        label={props.label}
        options={options()}
        value={chosen()}
        onChange={(value: FilledBy) => props.onChange(value + (NAMES[value] ?? ''))}
        error={named() === undefined ? props.error : undefined}
      />
      <Show when={named()}>
        {(prefix) => (
          <TextField
            label={prefix() === 'vars.' ? 'Variable' : 'Claim'}
            mono
            required
            value={props.value.slice(prefix().length)}
            onInput={(name) => props.onChange(prefix() + name.trim())}
            error={props.error}
          />
        )}
      </Show>
    </>
  );
}

import { Show } from 'solid-js';
import type { Parameter, ScalarType } from '#core/contract/definitions/parameters.ts';
import { TextField } from '#ui/src/components/form/field.tsx';
import { NumberField } from '#ui/src/components/form/number-field.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { TypedField } from '#ui/src/components/form/typed-field.tsx';
import { parseEntry, writeEntry } from '#ui/src/features/run/arguments.ts';
import { asExamples, type ColumnSource } from '../values/column-values.ts';
import { ExamplesField } from '../values/examples-field.tsx';
import { FromColumn } from '../values/from-column.tsx';
import { type Constraint, constraintsOf, ITEM_TYPES, withSource } from './parameters.ts';
import { SourceField } from './source-field.tsx';
import { same } from '#ui/src/kernel/form/merge.ts';

interface RulesProps {
  parameter: Parameter;
  /** Prompts know only allowed values. */
  choices_only: boolean;
  error: (field: string) => string | undefined;
  onChange: (next: Parameter) => void;
  /** The column that it is compared with. */
  source: ColumnSource | undefined;
}

const ITEMS = ITEM_TYPES.map((value) => ({ value, label: value }));

/** What a value must be, beyond its type. */
export function ParameterRules(props: RulesProps) {
  const filled = () => props.parameter.from !== undefined;
  const offers = (constraint: Constraint) =>
    filled() ? false : props.choices_only ? constraint === 'enum' : constraintsOf(props.parameter).includes(constraint);
  const set = (field: keyof Parameter, value: unknown) => {
    const { [field]: _before, ...rest } = props.parameter;
    props.onChange((value === undefined || value === null || value === '' ? rest : { ...rest, [field]: value }) as Parameter);
  };
  const number = (field: 'minimum' | 'maximum' | 'min_length' | 'max_length', label: string, least?: number) => (
    <Show when={offers(field)}>
      <NumberField
        label={label}
        value={props.parameter[field] ?? null}
        onInput={(value) => set(field, value)}
        {...(least === undefined ? {} : { min: least })}
        error={props.error(field)}
      />
    </Show>
  );
  const is_array = () => props.parameter.type === 'array';

  return (
    <div class="parameter-rules">
      <Show when={!props.choices_only}>
        <SourceField
          label="Filled by"
          value={props.parameter.from ?? ''}
          onChange={(from) => props.onChange(withSource(props.parameter, from))}
          error={props.error('from')}
        />
      </Show>
      <Show when={is_array() && !props.choices_only}>
        <Select
          label="Elements"
          options={ITEMS}
          value={props.parameter.items ?? 'string'}
          onChange={(items: ScalarType) => set('items', items)}
          error={props.error('items')}
        />
      </Show>
      {number('minimum', 'Minimum')}
      {number('maximum', 'Maximum')}
      <Show when={is_array()} fallback={number('min_length', 'Min length', 0)}>
        {number('min_length', 'Min items', 0)}
      </Show>
      <Show when={is_array()} fallback={number('max_length', 'Max length', 0)}>
        {number('max_length', 'Max items', 0)}
      </Show>
      <Show when={offers('pattern')}>
        <TextField
          label="Pattern"
          mono
          value={props.parameter.pattern ?? ''}
          onInput={(value) => set('pattern', value)}
          hint={'A regular expression that the value must match, such as ^[A-Z]{2}$.'}
          error={props.error('pattern')}
        />
      </Show>
      <Show when={offers('enum')}>
        <div class="stack" data-gap="1">
          <ChoicesField
            parameter={props.parameter}
            error={props.error('enum')}
            onChange={(choices) => set('enum', same(choices, []) ? undefined : choices)}
          />
          <Show when={props.source}>
            {(source) => <FromColumn source={source()} whole onValues={(values) => set('enum', values)} />}
          </Show>
        </div>
      </Show>
      <Show when={!props.choices_only && !filled()}>
        <div class="stack" data-gap="1">
          <ExamplesField
            parameter={props.parameter}
            error={props.error('examples')}
            onChange={(examples) => set('examples', same(examples, []) ? undefined : examples)}
          />
          <Show when={props.source}>
            {(source) => (
              <FromColumn source={source()} onValues={(values) => set('examples', asExamples(values, props.parameter))} />
            )}
          </Show>
        </div>
      </Show>
    </div>
  );
}

function ChoicesField(props: { parameter: Parameter; error: string | undefined; onChange: (choices: unknown) => void }) {
  const scalar = (): ScalarType =>
    props.parameter.type === 'array' ? (props.parameter.items ?? 'string') : props.parameter.type;
  return (
    <TypedField
      label="Allowed values"
      rows={3}
      value={props.parameter.enum ?? []}
      write={(choices) => writeEntry(choices) ?? ''}
      read={(text) => ({
        value: text.split('\n').filter((line) => line.trim() !== ''),
        ...parseEntry(text, { type: 'array', items: scalar() }),
      })}
      onChange={props.onChange}
      hint="One per line. Leave empty to allow any value."
      error={props.error}
    />
  );
}

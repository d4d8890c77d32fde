import { createEffect, createSignal, on, Show } from 'solid-js';
import type { Parameter, ScalarType } from '#core/contract/parameters.ts';
import { TextArea, TextField } from '#ui/src/components/field.tsx';
import { NumberField } from '#ui/src/components/number-field.tsx';
import { Select } from '#ui/src/components/select.tsx';
import { parseEntry, writeEntry } from '#ui/src/kernel/builder-arguments.ts';
import { type Constraint, constraintsOf, ITEM_TYPES } from '#ui/src/kernel/builder-parameters.ts';
import { same } from '#ui/src/kernel/merge.ts';
import { BUILDER_WORDS as WORDS } from './words.ts';

interface RulesProps {
  parameter: Parameter;
  /** Prompts know only allowed values. */
  choices_only: boolean;
  error: (field: string) => string | undefined;
  onChange: (next: Parameter) => void;
}

const ITEMS = ITEM_TYPES.map((value) => ({ value, label: value }));

/** What a value must be, beyond its type. */
export function ParameterRules(props: RulesProps) {
  const offers = (constraint: Constraint) =>
    props.choices_only ? constraint === 'enum' : constraintsOf(props.parameter).includes(constraint);
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
      <Show when={is_array() && !props.choices_only}>
        <Select
          label={WORDS.elements}
          options={ITEMS}
          value={props.parameter.items ?? 'string'}
          onChange={(items: ScalarType) => set('items', items)}
          error={props.error('items')}
        />
      </Show>
      {number('minimum', WORDS.minimum)}
      {number('maximum', WORDS.maximum)}
      <Show when={is_array()} fallback={number('min_length', WORDS.min_length, 0)}>
        {number('min_length', WORDS.min_items, 0)}
      </Show>
      <Show when={is_array()} fallback={number('max_length', WORDS.max_length, 0)}>
        {number('max_length', WORDS.max_items, 0)}
      </Show>
      <Show when={offers('pattern')}>
        <TextField
          label={WORDS.pattern}
          mono
          value={props.parameter.pattern ?? ''}
          onInput={(value) => set('pattern', value)}
          hint={WORDS.pattern_hint}
          error={props.error('pattern')}
        />
      </Show>
      <Show when={offers('enum')}>
        <ChoicesField
          parameter={props.parameter}
          error={props.error('enum')}
          onChange={(choices) => set('enum', choices.length === 0 ? undefined : choices)}
        />
      </Show>
    </div>
  );
}

function ChoicesField(props: {
  parameter: Parameter;
  error: string | undefined;
  onChange: (choices: (string | number | boolean)[]) => void;
}) {
  const [typed, setTyped] = createSignal('');
  const [fault, setFault] = createSignal<string>();
  const scalar = (): ScalarType =>
    props.parameter.type === 'array' ? (props.parameter.items ?? 'string') : props.parameter.type;
  const parse = (text: string) => parseEntry(text, { type: 'array', items: scalar() });
  createEffect(
    on(
      () => props.parameter.enum,
      (choices) => {
        const parsed = parse(typed());
        if (same(choices ?? [], 'value' in parsed ? parsed.value : [])) return;
        setTyped(writeEntry(choices) ?? '');
        setFault(undefined);
      },
    ),
  );
  const take = (text: string) => {
    setTyped(text);
    const parsed = parse(text);
    setFault('fault' in parsed ? parsed.fault : undefined);
    if ('fault' in parsed || !Array.isArray(parsed.value)) return;
    props.onChange(
      parsed.value.filter((item) => ['string', 'number', 'boolean'].includes(typeof item)) as (string | number | boolean)[],
    );
  };
  return (
    <TextArea
      label={WORDS.choices}
      mono
      rows={3}
      value={typed()}
      onInput={take}
      hint={WORDS.choices_hint}
      error={fault() ?? props.error}
    />
  );
}

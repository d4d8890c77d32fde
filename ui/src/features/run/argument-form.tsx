import { For, Match, Show, Switch } from 'solid-js';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import { Combobox } from '#ui/src/components/form/combobox.tsx';
import { DateField } from './date-field.tsx';
import type { DateKind } from './date-text.ts';
import { TextArea, TextField } from '#ui/src/components/form/field.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { TagsField } from '#ui/src/components/form/tags-field.tsx';
import { type Entered, parseEntry, writeEntry } from './arguments.ts';
import './result.css';

interface FormProps {
  parameters: readonly Parameter[];
  entered: Entered;
  onInput: (name: string, value: string | undefined) => void;
  error: (name: string) => string | undefined;
  /** Says what each argument is for. */
  described?: boolean;
  /** Values that the server proposes, by name. */
  proposals?: Readonly<Record<string, readonly string[]>>;
}

/** A value for each parameter, in a field of its type. What is empty is not given. */
export function ArgumentForm(props: FormProps) {
  return (
    <div class="argument-form">
      <For each={props.parameters.map(({ name }) => name)}>
        {(name) => (
          <Show when={props.parameters.find((parameter) => parameter.name === name)}>
            {(parameter) => (
              <ArgumentField
                parameter={parameter()}
                described={props.described === true}
                proposals={props.proposals?.[name]}
                value={props.entered[name]}
                onInput={(value) => props.onInput(name, value)}
                error={props.error(name)}
              />
            )}
          </Show>
        )}
      </For>
    </div>
  );
}

const ABSENT = '\0';
const DATES: readonly DateKind[] = ['date', 'datetime'];
const INPUT_MODE = { integer: 'numeric', number: 'decimal' } as const;

function ArgumentField(props: {
  parameter: Parameter;
  described: boolean;
  proposals: readonly string[] | undefined;
  value: string | undefined;
  onInput: (value: string | undefined) => void;
  error: string | undefined;
}) {
  const type = () => props.parameter.type;
  const optional = () => !props.parameter.required;
  const fallback = () => writeEntry(props.parameter.default);
  const placeholder = () => {
    const value = fallback();
    if (value === undefined) return optional() ? 'not given' : undefined;
    return `${value === '' ? 'empty' : value.split('\n').join(', ')} (default)`;
  };
  const hint = () =>
    [
      props.described ? props.parameter.description : '',
      props.described && type() === 'array' ? 'Separate values with a comma or Enter.' : '',
      props.described && type() === 'json' ? 'As JSON.' : '',
    ]
      .flatMap((part) => (part === undefined || part === '' ? [] : [/[.!?)]$/.test(part) ? part : `${part}.`]))
      .join(' ') || undefined;
  const about = () => ({
    label: props.parameter.name,
    name: props.parameter.name,
    optional: optional(),
    hint: hint(),
    error: props.error,
  });
  const date = (): DateKind | undefined => DATES.find((kind) => kind === type());
  const choices = () => (type() === 'boolean' ? ['true', 'false'] : props.parameter.enum?.map(String));
  const write = (text: string) => props.onInput(text === '' && optional() ? undefined : text);
  /** What a list holds, whether or not each is a value of its type. */
  const items = (): string[] => {
    const text = props.value ?? '';
    const parsed = text.startsWith('[') ? parseEntry(text, { type: 'array', items: 'json' }) : { fault: '' };
    if ('value' in parsed && Array.isArray(parsed.value)) return parsed.value.map((item) => writeEntry(item) ?? '');
    return text.split('\n').filter((line) => line !== '');
  };

  return (
    <Switch
      fallback={
        <TextField
          {...about()}
          mono={type() !== 'string'}
          inputmode={INPUT_MODE[type() as keyof typeof INPUT_MODE]}
          value={props.value ?? ''}
          onInput={write}
          placeholder={placeholder()}
        />
      }
    >
      <Match when={type() === 'array'}>
        <TagsField
          {...about()}
          value={items()}
          onChange={(list) => write(writeEntry(list) ?? '')}
          suggestions={props.parameter.enum?.map(String) ?? []}
          placeholder={placeholder() ?? ''}
        />
      </Match>
      <Match when={choices()}>
        {(list) => (
          <Select
            {...about()}
            options={[
              ...(optional() || fallback() !== undefined || props.value === undefined
                ? [{ value: ABSENT, label: placeholder() ?? 'not given' }]
                : []),
              ...list().map((value) => ({ value, label: value })),
            ]}
            value={props.value ?? ABSENT}
            onChange={(value: string) => props.onInput(value === ABSENT ? undefined : value)}
          />
        )}
      </Match>
      <Match when={type() === 'json'}>
        <TextArea {...about()} mono rows={3} value={props.value ?? ''} onInput={write} placeholder={placeholder() ?? '{}'} />
      </Match>
      <Match when={date()}>
        {(kind) => <DateField {...about()} kind={kind()} value={props.value ?? ''} onInput={write} placeholder={placeholder()} />}
      </Match>
      <Match when={props.proposals}>
        {(proposals) => (
          <Combobox
            {...about()}
            free
            placeholder=""
            value={props.value}
            onChange={(value = '') => write(value)}
            options={proposals().map((value) => ({ value, label: value }))}
          />
        )}
      </Match>
    </Switch>
  );
}

import { createSignal, createUniqueId, Index, type JSX, Show } from 'solid-js';
import type { Parameter, ParameterType } from '#core/contract/definitions/parameters.ts';
import type { Suggestion } from '#core/contract/definitions/preview.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button, IconButton } from '#ui/src/components/button.tsx';
import { AddRow } from '#ui/src/components/form/add-row.tsx';
import { Checkbox } from '#ui/src/components/form/choice.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { lazyPart } from '#ui/src/components/show/lazy-part.tsx';
import { passesFocus } from '#ui/src/components/form/passes-focus.ts';
import { Select } from '#ui/src/components/form/select.tsx';
import { PARAMETER_TYPES, rulesInWords, suggestionInWords, withSuggestion, withType } from './parameters.ts';
import type { ColumnSource } from '../values/column-values.ts';
import { DefaultField } from '../values/default-field.tsx';
import './parameters.css';

interface ParameterTableProps {
  label: string;
  value: readonly Parameter[];
  onChange: (value: Parameter[]) => void;
  /** Error by path, such as `0.name`. */
  error: (path: string) => string | undefined;
  /** Names used in the text; only the others can be removed. */
  used: readonly string[];
  empty: string;
  /** Suggestions of the database. */
  suggested?: readonly Suggestion[] | undefined;
  /** Notes on the parameter at an index. */
  notes?: (index: number) => JSX.Element;
  /** The column that a parameter is compared with, whose values can be read. */
  source?: (parameter: Parameter) => ColumnSource | undefined;
  /** Prompt arguments: strings only. */
  arguments?: boolean;
}

/** Loaded when the rules of a parameter are opened. */
const ParameterRules = lazyPart(async () => (await import('./parameter-rules.tsx')).ParameterRules);

const TYPES = PARAMETER_TYPES.map((value) => ({ value, label: value }));

/** The parameters of a statement or a template: one row each, with its rules in an expandable section. */
export function ParameterTable(props: ParameterTableProps) {
  const replace = (index: number, next: Parameter) =>
    props.onChange(props.value.map((parameter, at) => (at === index ? next : parameter)));
  const remove = (index: number) => props.onChange(props.value.toSpliced(index, 1));
  const add = () => {
    let name = 'argument';
    for (let n = 2; props.value.some((one) => one.name === name); n++) name = `argument_${n}`;
    props.onChange([...props.value, { name, type: 'string', description: '', required: true }]);
  };

  return (
    <div class="parameters">
      <Show when={props.value.length > 0} fallback={<p class="soft small">{props.empty}</p>}>
        <table class="parameter-table" aria-label={props.label} data-kind={props.arguments ? 'arguments' : 'parameters'}>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <Show when={!props.arguments}>
                <th scope="col">Type</th>
              </Show>
              <th scope="col">Required</th>
              <Show when={!props.arguments}>
                <th scope="col">Default</th>
              </Show>
              <th scope="col">Description</th>
              <th scope="col">
                <span class="visually-hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <Index each={props.value}>
            {(parameter, index) => (
              <ParameterRow
                parameter={parameter()}
                arguments={props.arguments === true}
                unused={!props.used.includes(parameter().name)}
                suggestion={props.suggested?.find(({ name }) => name === parameter().name)}
                error={(field) => props.error(`${index}.${field}`)}
                notes={props.notes?.(index)}
                source={props.source?.(parameter())}
                onChange={(next) => replace(index, next)}
                onRemove={() => remove(index)}
              />
            )}
          </Index>
        </table>
      </Show>
      <Show when={props.arguments}>
        <AddRow label="Add argument" onPress={add} />
      </Show>
    </div>
  );
}

interface RowProps {
  parameter: Parameter;
  arguments: boolean;
  unused: boolean;
  suggestion: Suggestion | undefined;
  error: (field: string) => string | undefined;
  notes: JSX.Element;
  source: ColumnSource | undefined;
  onChange: (next: Parameter) => void;
  onRemove: () => void;
}

const RULES = ['from', 'enum', 'minimum', 'maximum', 'min_length', 'max_length', 'pattern', 'items', 'examples'] as const;

function ParameterRow(props: RowProps) {
  const id = createUniqueId();
  const [opened, setOpened] = createSignal(false);
  const name = () => props.parameter.name;
  const of = (field: string) => `${field} of ${name()}`;
  const faulty = () => RULES.some((rule) => props.error(rule) !== undefined);
  const open = () => opened() || faulty();
  const suggested = () => (props.suggestion === undefined ? '' : suggestionInWords(props.parameter, props.suggestion));
  const apply = () => props.suggestion !== undefined && props.onChange(withSuggestion(props.parameter, props.suggestion));
  const set = (change: Partial<Parameter>) => props.onChange({ ...props.parameter, ...change });

  return (
    <tbody ref={passesFocus} data-open={open() ? 'true' : undefined}>
      <tr>
        <td data-cell="name">
          <Show when={props.arguments} fallback={<code class="parameter-name">:{name()}</code>}>
            <TextField
              label={of('Name')}
              hide_label
              mono
              value={name()}
              onInput={(value) => set({ name: value })}
              error={props.error('name')}
            />
          </Show>
          <Show when={props.unused}>
            <Badge tone="warning">unused</Badge>
          </Show>
          <Show when={!props.arguments && props.error('name')}>{(error) => <p class="field-error">{error()}</p>}</Show>
        </td>
        <Show when={!props.arguments}>
          <td data-cell="type">
            <Select
              label={of('Type')}
              hide_label
              options={TYPES}
              value={props.parameter.type}
              onChange={(type: ParameterType) => props.onChange(withType(props.parameter, type))}
              error={props.error('type')}
            />
          </td>
        </Show>
        <td data-cell="required">
          <Show when={props.parameter.from === undefined} fallback={<Badge>filled</Badge>}>
            <Checkbox
              label={of('Required')}
              hide_label
              checked={props.parameter.required}
              onChange={(required) => set({ required })}
            />
            <span class="narrow-label" aria-hidden="true">
              Required
            </span>
          </Show>
        </td>
        <Show when={!props.arguments}>
          <td data-cell="default">
            <Show when={props.parameter.from === undefined} fallback={<code class="small soft">{props.parameter.from}</code>}>
              <DefaultField
                label={of('Default')}
                parameter={props.parameter}
                error={props.error('default')}
                onChange={(value) => props.onChange(withDefault(props.parameter, value))}
              />
            </Show>
          </td>
        </Show>
        <td data-cell="description">
          <TextField
            label={of('Description')}
            hide_label
            value={props.parameter.description}
            onInput={(description) => set({ description })}
            placeholder="Description"
            error={props.error('description')}
          />
          <Show when={!open() && rulesInWords(props.parameter)}>{(rules) => <p class="faint small truncate">{rules()}</p>}</Show>
          {props.notes}
          <Show when={suggested()}>
            {(words) => (
              <p class="small parameter-suggestion">
                <span class="soft">Database: {words()}</span>
                <Button size="small" kind="quiet" label={`Apply the suggestion for ${name()}`} onPress={apply}>
                  Apply
                </Button>
              </p>
            )}
          </Show>
        </td>
        <td data-cell="actions">
          <IconButton
            icon={open() ? 'up' : 'down'}
            size="small"
            label={`Rules of ${name()}`}
            aria-expanded={open()}
            aria-controls={id}
            onPress={() => setOpened(!opened())}
          />
          <Show when={props.arguments || props.unused}>
            <IconButton icon="trash" size="small" label={`Remove ${name()}`} onPress={() => props.onRemove()} />
          </Show>
        </td>
      </tr>
      <tr id={id} hidden={!open()} class="parameter-rules-row">
        <td colspan={props.arguments ? 4 : 6}>
          <Show when={open()}>
            <ParameterRules
              parameter={props.parameter}
              choices_only={props.arguments}
              error={(field) => props.error(field)}
              onChange={(next) => props.onChange(next)}
              source={props.source}
            />
          </Show>
        </td>
      </tr>
    </tbody>
  );
}

/** The key is removed without a value, so that nothing is sent. */
function withDefault({ default: _before, ...rest }: Parameter, value: unknown): Parameter {
  return value === undefined ? rest : { ...rest, default: value };
}

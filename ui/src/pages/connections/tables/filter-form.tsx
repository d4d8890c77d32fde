import { createSignal, Show } from 'solid-js';
import type { DbType } from '#core/contract/definitions/connections.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import {
  type Operator,
  OPERATORS,
  operatorsOf,
  type RowFilter,
  takesValue,
  valueParameter,
} from '#ui/src/features/builder/sql/row-query.ts';
import { dialectOf } from '#ui/src/features/builder/sql/scan.ts';
import { ArgumentForm } from '#ui/src/features/run/argument-form.tsx';
import { toArguments } from '#ui/src/features/run/arguments.ts';
import type { Column } from './table-address.ts';

const VALUE = 'Value';

/** A column, how it is compared, and with what, in a field of its type. */
export function FilterForm(props: { columns: readonly Column[]; db_type: DbType; onAdd: (filter: RowFilter) => void }) {
  const [name, setName] = createSignal<string>();
  const [chosen_operator, setOperator] = createSignal<Operator>();
  const [typed, setTyped] = createSignal<string>();
  const [fault, setFault] = createSignal<string>();
  const offered = () => props.columns.filter((column) => operatorsOf(column).length > 0);
  const column = () => offered().find((one) => one.name === name()) ?? offered()[0];
  const operators = () => (column() === undefined ? [] : operatorsOf(column()!));
  const operator = () => operators().find((one) => one === chosen_operator()) ?? operators()[0] ?? 'is';
  const parameter = () => {
    const found = column();
    return found && takesValue(operator())
      ? valueParameter({ column: found, parameter: VALUE }, operator(), dialectOf(props.db_type))
      : undefined;
  };
  const value = () => {
    const { type, enum: choices } = parameter() ?? {};
    return typed() ?? (type === 'boolean' ? 'true' : choices === undefined ? '' : String(choices[0]));
  };
  const enter = (text: string | undefined) => {
    setTyped(text);
    setFault(undefined);
  };
  const add = (event: SubmitEvent) => {
    event.preventDefault();
    const found = column();
    if (found === undefined) return;
    const declared = parameter();
    const { errors } = toArguments(declared === undefined ? [] : [declared], { [VALUE]: value() });
    setFault(errors[VALUE]);
    if (errors[VALUE] !== undefined) return;
    props.onAdd({ column: found.name, operator: operator(), value: declared === undefined ? '' : value() });
    setTyped(undefined);
  };
  return (
    <Show when={column()}>
      {(found) => (
        <form class="row-filter" aria-label="Filter rows" onSubmit={add} noValidate>
          <Select
            label="Column"
            options={offered().map((one) => ({ value: one.name, label: one.name, hint: one.type }))}
            value={found().name}
            onChange={(next: string) => {
              setName(next);
              enter(undefined);
            }}
          />
          <Select
            label="Condition"
            options={operators().map((one) => ({ value: one, label: OPERATORS[one] }))}
            value={operator()}
            onChange={(next: Operator) => {
              setOperator(next);
              enter(undefined);
            }}
          />
          <Show when={parameter()}>
            {(declared) => (
              <ArgumentForm
                parameters={[declared()]}
                entered={{ [VALUE]: value() }}
                onInput={(_, text) => enter(text)}
                error={fault}
              />
            )}
          </Show>
          <Button type="submit">Add filter</Button>
        </form>
      )}
    </Show>
  );
}

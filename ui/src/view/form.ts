import { continues } from '#core/query/page-schemas.ts';
import { isMembers, type Members } from '#core/lib/view/table.ts';
import { button, el } from './elements.ts';

/** A field of the form: where it is typed, and what it means. */
interface Field {
  readonly name: string;
  readonly row: HTMLElement;
  /** Undefined: nothing was entered. Throws when it is no value of its type. */
  readonly read: () => unknown;
}

/** The arguments of a tool, by its input schema. @param run is handed what was entered. */
export function drawForm(schema: Members, values: Members, run: (values: Members) => void): HTMLElement | null {
  const { properties, required } = schema;
  if (!isMembers(properties)) return null;
  const needed = Array.isArray(required) ? required : [];
  // Other arguments begin at the first page.
  const fields = Object.entries(properties)
    .map(([name, property]) => [name, isMembers(property) ? property : {}] as const)
    .filter(([name, property]) => !continues(name, property))
    .map(([name, property]) => drawField(name, property, needed.includes(name), values[name]));
  if (fields.length === 0) return null;
  const fault = el('p', { class: 'sv-error', role: 'alert' });
  fault.hidden = true;
  const form = el(
    'form',
    { class: 'sv-form' },
    ...fields.map(({ row }) => row),
    button('Run again', () => submit()),
    fault,
  );
  // A sandbox that allows no forms keeps the event `submit` from coming.
  form.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.target instanceof HTMLButtonElement) return;
    event.preventDefault();
    submit();
  });
  function submit(): void {
    if (!form.reportValidity()) return;
    try {
      const entered = fields.map(({ name, read }) => [name, read()] as const).filter(([, value]) => value !== undefined);
      fault.hidden = true;
      run(Object.fromEntries(entered));
    } catch (error) {
      fault.textContent = error instanceof Error ? error.message : String(error);
      fault.hidden = false;
    }
  }
  return el('details', { class: 'sv-again' }, el('summary', {}, 'Change arguments'), form);
}

function drawField(name: string, schema: Members, required: boolean, value: unknown): Field {
  const description = typeof schema['description'] === 'string' ? schema['description'] : undefined;
  const type = typeOf(schema);
  const choices = choicesOf(schema);
  const control = choices === null ? drawInput(type, value, required) : drawSelect(choices, value, required);
  const row = el('label', { class: 'sv-field', title: description }, el('span', {}, required ? `${name} *` : name), control);
  return { name, row, read: () => readControl(control, name, type, choices) };
}

function typeOf(schema: Members): string {
  const of = (one: unknown): string[] => (isMembers(one) && typeof one['type'] === 'string' ? [one['type']] : []);
  const branches = Array.isArray(schema['anyOf']) ? schema['anyOf'].flatMap(of) : of(schema);
  return branches.find((type) => type !== 'null') ?? 'string';
}

function choicesOf(schema: Members): readonly unknown[] | null {
  if (Array.isArray(schema['enum'])) return schema['enum'];
  return typeOf(schema) === 'boolean' ? [true, false] : null;
}

function drawInput(type: string, value: unknown, required: boolean): HTMLInputElement {
  const is_number = type === 'number' || type === 'integer';
  const input = el('input', { class: 'sv-input', type: is_number ? 'number' : 'text', required });
  if (is_number) input.step = type === 'integer' ? '1' : 'any';
  const as_text = type === 'string' || is_number;
  if (value !== undefined) input.value = as_text && typeof value === 'string' ? value : JSON.stringify(value);
  return input;
}

function drawSelect(choices: readonly unknown[], value: unknown, required: boolean): HTMLSelectElement {
  const select = el(
    'select',
    { class: 'sv-input', required },
    ...(required ? [] : [el('option', { value: '' }, 'Not set')]),
    ...choices.map((choice, n) => el('option', { value: n }, String(choice))),
  );
  const chosen = choices.findIndex((choice) => choice === value);
  if (chosen >= 0) select.value = String(chosen);
  return select;
}

function readControl(
  control: HTMLInputElement | HTMLSelectElement,
  name: string,
  type: string,
  choices: readonly unknown[] | null,
): unknown {
  const { value } = control;
  if (value === '') return undefined;
  if (choices !== null) return choices[Number(value)];
  if (type === 'number' || type === 'integer') return Number(value);
  if (type === 'string') return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    throw new Error(`${name} must be JSON, such as ${type === 'array' ? '["a", "b"]' : '{"a": 1}'}.`);
  }
}

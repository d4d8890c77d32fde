import { createSignal } from 'solid-js';
import { createStore, produce, reconcile, unwrap } from 'solid-js/store';
import * as v from 'valibot';
import { labelsIn } from '#core/contract/marks.ts';
import { toInvalid } from '#core/process/issues.ts';
import { readValue } from '#core/process/read-value.ts';
import { same } from './merge.ts';
import { bare, type Problem, toProblem } from '#ui/src/kernel/problem.ts';

type Shape = Record<string, unknown>;
export type FormSchema = v.GenericSchema<Shape, Shape>;

export interface FormOptions<T extends Shape, O> {
  /** The contract's schema of the request; fields without a form control need defaults. */
  readonly schema: FormSchema;
  readonly initial: () => T;
  /** Sends the validated values. Errors that name fields are shown there. */
  readonly submit: (values: T) => Promise<O>;
  readonly onDone?: (answer: O) => void;
  /** Checks beyond the schema: an error per field path. */
  readonly check?: (values: T) => Readonly<Record<string, string | undefined>>;
}

export interface Form<T extends Shape = Shape> {
  /** The schema of the request, with the marks of its fields. */
  readonly schema: FormSchema;
  /** Reactive and read-only; change through `set` and `change`. */
  readonly values: T;
  /** The value of a field, which may be in a row of a list: `issuers.0.audience`. */
  value(path: Path<T>): unknown;
  set(path: Path<T>, value: unknown): void;
  change(change: (draft: T) => void): void;
  /** The error of a field, without the field's name. */
  error(path: Path<T>): string | undefined;
  /** The error of a field, or of its first invalid part. */
  errorWithin(path: Path<T>): string | undefined;
  /** Every error by its path. */
  readonly errors: () => ReadonlyMap<string, string>;
  /** The problem of the last attempt; its field errors are in `errors`. */
  readonly problem: () => Problem | undefined;
  readonly busy: () => boolean;
  readonly dirty: () => boolean;
  /** Names of the top-level fields that differ from the base. */
  readonly changed: () => (keyof T & string)[];
  submit(event?: Event): Promise<boolean>;
  /** Returns whether the values are valid, and shows the errors. */
  validate(): boolean;
  /** Shows a server refusal of these values at the fields, without a submit. */
  refuse(problem: Problem): void;
  /** Restarts with these values: nothing is unsaved. */
  reset(values?: T): void;
  /** Restarts with the stored values after a save; edits during the save stay, unsaved. */
  stored(values: T): void;
  /** The values that changes are compared with. */
  readonly base: () => T;
  /** A plain copy of the current values. */
  readonly snapshot: () => T;
  text(path: Path<T>): TextBinding;
  /** Text that is not a number is stored as typed: the schema refuses it, and no input is lost. */
  number(path: Path<T>): Binding<number | string | null>;
  flag(path: Path<T>): {
    readonly name: string;
    readonly checked: boolean;
    readonly error: string | undefined;
    onChange(checked: boolean): void;
  };
  choice<V extends string = string>(
    path: Path<T>,
  ): { readonly name: string; readonly value: V; readonly error: string | undefined; onChange(value: V): void };
}

export type Path<T> = (keyof T & string) | `${keyof T & string}.${string}`;
interface Binding<V> {
  readonly name: string;
  readonly value: V;
  readonly error: string | undefined;
  onInput(value: V): void;
}
type TextBinding = Binding<string>;

/**
 * The state of a form. The schema of the contract validates before the request, with the same messages as the server, whose errors
 * appear at the same fields. Bindings consist of getters, so spreading them into a component stays reactive.
 */
export function createForm<T extends Shape, O>(options: FormOptions<T, O>): Form<T> {
  const beginning = structuredClone(options.initial());
  const [base, setBase] = createSignal<T>(beginning);
  const [values, setValues] = createStore<T>(structuredClone(beginning));
  const [errors, setErrors] = createSignal<ReadonlyMap<string, string>>(new Map());
  const [problem, setProblem] = createSignal<Problem>();
  const [busy, setBusy] = createSignal(false);
  const labels = labelsOf(options.schema);
  /** After the first attempt, every change is validated at once. */
  let attempted = false;
  /** The values of the save in progress. */
  let sent: T | undefined;

  const faults = (): ReadonlyMap<string, string> => {
    const given = plain(values);
    const result = readValue(options.schema, given);
    const known = 'entries' in options.schema ? Object.keys(options.schema.entries as object) : [];
    const found = new Map<string, string>();
    if (!result.success) {
      for (const { field, message } of toInvalid(result.issues, known).errors) {
        if (!found.has(field)) found.set(field, bare(message, field, labels).replace('Must not be null', 'Must not be empty'));
      }
    }
    for (const [field, message] of Object.entries(options.check?.(given) ?? {})) {
      if (message !== undefined) found.set(field, message);
    }
    return found;
  };
  const touched = (path: string) => {
    setProblem(undefined);
    if (attempted) setErrors(faults());
    else if (covers(errors(), path)) setErrors(new Map([...errors()].filter(([field]) => !isWithin(field, path))));
  };
  const set: Form<T>['set'] = (path, value) => {
    const keys = path.split('.');
    setValues(
      produce((draft) => {
        const parent = keys.slice(0, -1).reduce<unknown>((target, key) => (target as Shape)[key], draft);
        (parent as Shape)[keys.at(-1) ?? ''] = value;
      }),
    );
    touched(path);
  };
  const read = (path: string): unknown =>
    path
      .split('.')
      .reduce<unknown>(
        (target, key) => (typeof target === 'object' && target !== null ? (target as Shape)[key] : undefined),
        values,
      );
  const error = (path: string) => errors().get(path);
  // Reads through the store, so that deep changes are tracked.
  const changed = () => (Object.keys(values) as (keyof T & string)[]).filter((name) => !same(values[name], base()[name]));
  const reset: Form<T>['reset'] = (given) => {
    const next = structuredClone(given ?? base());
    attempted = false;
    setBase(() => next);
    setValues(reconcile(structuredClone(next)));
    setErrors(new Map());
    setProblem(undefined);
  };

  const validate = () => {
    attempted = true;
    setErrors(faults());
    return errors().size === 0;
  };

  const refuse = (refused: Problem) => {
    const found = inLabels(refused, options.schema);
    setErrors(new Map(found.errors.map(({ field, message }) => [field, message])));
    setProblem(found);
  };

  return {
    schema: options.schema,
    values,
    value: read,
    set,
    change(change) {
      setValues(produce(change));
      touched('');
    },
    error,
    errorWithin: (path) => error(path) ?? [...errors()].find(([field]) => isWithin(field, path))?.[1],
    errors,
    problem,
    busy,
    dirty: () => changed().length > 0,
    changed,
    base,
    snapshot: () => plain(values),
    validate,
    refuse,
    async submit(event) {
      event?.preventDefault();
      if (busy()) return false;
      setProblem(undefined);
      if (!validate()) {
        setProblem({ code: 'invalid', detail: 'Some fields need attention.', errors: [] });
        return false;
      }
      setBusy(true);
      try {
        const given = plain(values);
        sent = given;
        const answer = await options.submit(given);
        setBase(() => structuredClone(given));
        attempted = false;
        options.onDone?.(answer);
        return true;
      } catch (fault) {
        refuse(toProblem(fault));
        return false;
      } finally {
        sent = undefined;
        setBusy(false);
      }
    },
    reset,
    stored(given) {
      const now = plain(values);
      const since = Object.entries(now).filter(([name, value]) => sent !== undefined && !same(value, sent[name]));
      reset(given);
      if (since.length > 0) setValues(produce((draft) => void Object.assign(draft, Object.fromEntries(since))));
    },
    text: (path) => ({
      name: path,
      get value() {
        const value = read(path);
        return typeof value === 'string' ? value : '';
      },
      get error() {
        return error(path);
      },
      // A text that was null at first and is cleared again becomes null, not an empty string.
      onInput: (value) => set(path, value === '' && allowsNull(options.schema, path) ? null : value),
    }),
    number: (path) => ({
      name: path,
      get value() {
        const value = read(path);
        return typeof value === 'number' || typeof value === 'string' ? value : null;
      },
      get error() {
        return error(path);
      },
      onInput: (value) => set(path, value),
    }),
    flag: (path) => ({
      name: path,
      get checked() {
        return read(path) === true;
      },
      get error() {
        return error(path);
      },
      onChange: (checked) => set(path, checked),
    }),
    choice: <V extends string>(path: Path<T>) => ({
      name: path,
      get value() {
        return (read(path) ?? '') as V;
      },
      get error() {
        return error(path);
      },
      onChange: (value: V) => set(path, value === '' && allowsNull(options.schema, path) ? null : value),
    }),
  };
}

const plain = <T extends Shape>(values: T): T => structuredClone(unwrap(values));

/** The labels of a form's fields. */
export const labelsOf = (schema: FormSchema): Readonly<Record<string, string>> =>
  'entries' in schema ? labelsIn(schema.entries as v.ObjectEntries) : {};

/** The problem with labels instead of field names; a name without an underscore may be an ordinary word and stays. */
export function inLabels(problem: Problem, schema: FormSchema): Problem {
  const labels = labelsOf(schema);
  const entries = (text: string): string =>
    text.replaceAll(/\b([a-z]+(?:_[a-z]+)*)\.(\d+)\b/g, (path, name: string, index: string) =>
      Object.hasOwn(labels, name) ? `Entry ${Number(index) + 1} of ${labels[name]}` : path,
    );
  const label = (text: string): string =>
    entries(text).replaceAll(/\b[a-z]+(?:_[a-z]+)+\b/g, (name) => (Object.hasOwn(labels, name) ? (labels[name] ?? name) : name));
  const errors = problem.errors.map(({ field, message }) => ({ field, message: label(bare(message, field, labels)) }));
  return { ...problem, detail: label(problem.detail), errors };
}

const isWithin = (field: string, path: string): boolean => path === '' || field === path || field.startsWith(`${path}.`);
const covers = (errors: ReadonlyMap<string, string>, path: string): boolean =>
  [...errors.keys()].some((field) => isWithin(field, path));

/** Whether the schema allows null here. */
function allowsNull(schema: FormSchema, path: string): boolean {
  const steps = path.split('.');
  let at: unknown = schema;
  for (const step of steps) {
    at = unwrapped(at);
    if (!isObject(at)) return false;
    if ('entries' in at && isObject(at['entries'])) at = at['entries'][step];
    else if ('item' in at) at = at['item'];
    else return false;
  }
  return isObject(at) && v.safeParse(at as unknown as v.GenericSchema, null).success;
}

function unwrapped(schema: unknown): unknown {
  let at = schema;
  while (isObject(at)) {
    if ('wrapped' in at) at = at['wrapped'];
    else if ('pipe' in at && Array.isArray(at['pipe']) && at['pipe'][0] !== at) at = at['pipe'][0];
    else break;
  }
  return at;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

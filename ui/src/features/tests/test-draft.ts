import type { Expect, TestDraft } from '#core/contract/definitions/tests.ts';
import type { RawInput } from '#core/contract/index.ts';
import { parseJson } from '#ui/src/kernel/json.ts';

/** A test as its form holds it: texts, empty where nothing is expected. */
export type TestForm = {
  readonly name: string;
  readonly arguments: string;
  readonly fails: boolean;
  readonly error: string;
  readonly columns: string;
  readonly absent_columns: string;
  readonly min: string;
  readonly max: string;
  readonly contains: string;
  readonly equals: string;
  readonly max_ms: string;
  readonly max_bytes: string;
  readonly max_tokens: string;
  readonly enabled: boolean;
};

const json = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value, null, 2));
const text = (value: number | undefined): string => (value === undefined ? '' : String(value));

export const toForm = ({ name, arguments: args = {}, expect = {}, enabled = true }: Partial<TestDraft>): TestForm => ({
  name: name ?? '',
  arguments: json(args),
  fails: expect.error !== undefined,
  error: typeof expect.error === 'string' ? expect.error : '',
  columns: (expect.columns ?? []).join(', '),
  absent_columns: (expect.absent_columns ?? []).join(', '),
  min: text(expect.rows?.min),
  max: text(expect.rows?.max),
  contains: json(expect.contains),
  equals: json(expect.equals),
  max_ms: text(expect.max_ms),
  max_bytes: text(expect.max_bytes),
  max_tokens: text(expect.max_tokens),
  enabled,
});

type FormErrors = Partial<Record<keyof TestForm, string>>;
type Written = Pick<RawInput<'tests.create'>, 'name' | 'arguments' | 'expect' | 'enabled'>;

/** What the form says, or why it cannot be read. */
export function fromForm(form: TestForm): { readonly draft: Written } | { readonly errors: FormErrors } {
  const errors: FormErrors = {};
  const parsed = (name: keyof TestForm): unknown => {
    const written = String(form[name]).trim();
    if (written === '') return undefined;
    const value = parseJson(written);
    if (value === undefined) errors[name] = 'This isn’t valid JSON.';
    return value;
  };
  const numbered = (name: keyof TestForm): number | undefined => {
    const written = String(form[name]).trim();
    if (written === '') return undefined;
    if (/^\d{1,9}$/.test(written)) return Number(written);
    errors[name] = 'Enter a whole number.';
    return undefined;
  };
  const listed = (written: string): string[] | undefined => {
    const names = written
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '');
    return names.length === 0 ? undefined : names;
  };
  const args = parsed('arguments') ?? {};
  if (typeof args !== 'object' || Array.isArray(args)) errors.arguments = 'Enter an object, such as {"customer": 7}.';
  const max_ms = numbered('max_ms');
  const [min, max] = [numbered('min'), numbered('max')];
  const result = {
    columns: listed(form.columns),
    absent_columns: listed(form.absent_columns),
    rows: min === undefined && max === undefined ? undefined : given({ min, max }),
    contains: parsed('contains') as Expect['contains'],
    equals: parsed('equals'),
    max_bytes: numbered('max_bytes'),
    max_tokens: numbered('max_tokens'),
  };
  if (result.contains !== undefined && !Array.isArray(result.contains)) errors.contains = 'Enter a list of objects.';
  if (form.name.trim() === '') errors.name = 'Enter a name.';
  if (Object.keys(errors).length > 0) return { errors };
  const failing: true | string = form.error.trim() === '' ? true : form.error.trim();
  const expect: Expect = form.fails ? given({ error: failing, max_ms }) : given({ ...result, max_ms });
  return { draft: { name: form.name.trim(), arguments: args as Record<string, unknown>, expect, enabled: form.enabled } };
}

const given = <T extends object>(members: T): T =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;

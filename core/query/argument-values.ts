import type { Parameter, ScalarType } from '#core/contract/definitions/parameters.ts';
import type { Json } from '#core/lib/sql/result.ts';
import { isDeeper } from '#core/lib/nesting.ts';
import type { Undecided, Work } from './argument-work.ts';
import type { Pattern } from '#core/lib/pattern/pattern.ts';

/** `fault` completes a sentence that starts with the argument's name. It never contains the value. */
export type Checked = Right | { readonly ok: false; readonly fault: string };
interface Right {
  readonly ok: true;
  readonly value: Json;
  /** Texts whose pattern needs more time than one call may block other calls. */
  readonly undecided?: readonly Undecided[];
}
/** @param work the budget that all checks of one call share. */
export type ValueCheck = (value: unknown, work: Work) => Checked;

type Constraints = Pick<Parameter, 'type' | 'items' | 'enum' | 'minimum' | 'maximum' | 'min_length' | 'max_length'>;

/** Maximum elements of an array argument. */
export const MAX_ITEMS = 10_000;
const SHOWN_CHOICES = 20;
/**
 * Maximum nesting of a JSON argument, the same as for request bodies: serializing much deeper values takes a second and fails.
 */
const MAX_DEPTH = 64;
const TOO_DEEP = `must be nested at most ${MAX_DEPTH} levels deep.`;

/**
 * Checks the nesting of all arguments of a call before any other check; an argument can be an array of JSON. Returns null if it
 * is fine.
 */
export const depthFault = (args: object): string | null => (isDeeper(args, MAX_DEPTH + 2) ? `Arguments ${TOO_DEEP}` : null);

const right = (value: Json): Checked => ({ ok: true, value });
const wrong = (fault: string): Checked => ({ ok: false, fault });

/** Builds the check for one parameter. For an array, constraints apply to each element and lengths to the array itself. */
export function checkValue(parameter: Constraints, pattern: Pattern | undefined): ValueCheck {
  if (parameter.type === 'array') return arrayOf(parameter, scalar(parameter, parameter.items ?? 'string', pattern));
  const check = scalar(parameter, parameter.type, pattern);
  if (parameter.type !== 'string') return check;
  const { min_length = 0, max_length = Infinity } = parameter;
  return (value, work) => {
    // The length comes first: a text that is too long need not be matched against the pattern.
    if (typeof value === 'string' && value.length > 2 * max_length) return wrong(`must have at most ${max_length} characters.`);
    const found = check(value, work);
    if (!found.ok || typeof found.value !== 'string' || (min_length === 0 && found.value.length <= max_length)) return found;
    // JSON Schema counts characters, not UTF-16 units.
    const length = Array.from(found.value).length;
    if (length < min_length) return wrong(`must have at least ${min_length} characters.`);
    return length > max_length ? wrong(`must have at most ${max_length} characters.`) : found;
  };
}

function arrayOf({ min_length = 0, max_length = MAX_ITEMS }: Constraints, check: ValueCheck): ValueCheck {
  const most = Math.min(max_length, MAX_ITEMS);
  return (value, work) => {
    if (!Array.isArray(value)) return wrong('must be an array.');
    if (value.length < min_length) return wrong(`must have at least ${min_length} elements.`);
    if (value.length > most) return wrong(`must have at most ${most} elements.`);
    const items: Json[] = [];
    const undecided: Undecided[] = [];
    for (const [i, item] of value.entries()) {
      const found = check(item, work);
      const toFault = (fault: string) => `has a wrong element at position ${i + 1}: it ${fault}`;
      if (!found.ok) return wrong(toFault(found.fault));
      items.push(found.value);
      for (const { matching } of found.undecided ?? []) undecided.push({ matching, toFault });
    }
    return undecided.length === 0 ? right(items) : { ok: true, value: items, undecided };
  };
}

function scalar(constraints: Constraints, type: ScalarType, pattern: Pattern | undefined): ValueCheck {
  const { minimum, maximum, enum: choices } = constraints;
  const allowed = choices && new Set<unknown>(choices);
  const typed = SCALARS[type];
  return (value, work) => {
    const found = typed(value);
    if (!found.ok) return found;
    if (minimum !== undefined && compare(found.value, minimum) < 0) return wrong(`must be at least ${minimum}.`);
    if (maximum !== undefined && compare(found.value, maximum) > 0) return wrong(`must be at most ${maximum}.`);
    if (allowed && !allowed.has(found.value)) return wrong(`must be one of ${listed([...allowed])}.`);
    if (!pattern || typeof found.value !== 'string') return found;
    const answer = work.check(pattern, found.value);
    if (answer === null) return found;
    if (typeof answer === 'string') return wrong(answer);
    return { ...found, undecided: [{ matching: answer, toFault: (fault) => fault }] };
  };
}

function listed(choices: readonly unknown[]): string {
  const shown = choices.slice(0, SHOWN_CHOICES).map((choice) => JSON.stringify(choice));
  const rest = choices.length - shown.length;
  return shown.join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const DATETIME =
  /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?(?: ?(?:[Zz]|[+-](\d{2})(?::?(\d{2}))?))?)?$/;
const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
const BASE64 = /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/;
const INTEGER = /^-?\d{1,20}$/;
const DECIMAL = /^-?\d{1,300}(?:\.\d{1,300})?$/;
/** From PostgreSQL's smallest bigint to MySQL's largest unsigned one. */
const LEAST = -(2n ** 63n);
const MOST = 2n ** 64n - 1n;

const SCALARS: Readonly<Record<ScalarType, (value: unknown) => Checked>> = {
  string: (value) => (typeof value === 'string' ? right(value) : wrong('must be a string.')),
  boolean: (value) => (typeof value === 'boolean' ? right(value) : wrong('must be true or false.')),
  integer(value) {
    if (typeof value === 'number') {
      if (!Number.isInteger(value)) return wrong('must be an integer.');
      return Number.isSafeInteger(value) ? right(value === 0 ? 0 : value) : wrong('is beyond 2^53; send its digits as a string.');
    }
    if (typeof value !== 'string' || !INTEGER.test(value)) return wrong('must be an integer.');
    const exact = BigInt(value);
    if (exact < LEAST || exact > MOST) return wrong('must fit into 64 bits.');
    const number = Number(exact);
    return Number.isSafeInteger(number) ? wrong('must be an integer, not a string.') : right(exact.toString());
  },
  number(value) {
    if (typeof value === 'number') return Number.isFinite(value) ? right(value) : wrong('must be a finite number.');
    if (typeof value !== 'string') return wrong('must be a number.');
    return DECIMAL.test(value) ? right(value) : wrong('must be a number, or its decimal digits as a string.');
  },
  date: (value) => (typeof value === 'string' && isDate(value) ? right(value) : wrong('must be a date of the form YYYY-MM-DD.')),
  datetime(value) {
    const fault =
      'must be a date, or a date and time of the form YYYY-MM-DDThh:mm:ss, alone or with Z or an offset such as +02:00.';
    const [, date, hour = '0', minute = '0', second = '0', offsetHour = '0', offsetMinute = '0'] =
      (typeof value === 'string' ? DATETIME.exec(value) : null) ?? [];
    if (date === undefined || typeof value !== 'string' || !isDate(date)) return wrong(fault);
    const inRange =
      Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60 && Number(offsetHour) < 16 && Number(offsetMinute) < 60;
    return inRange ? right(value) : wrong(fault);
  },
  uuid: (value) => (typeof value === 'string' && UUID.test(value) ? right(value) : wrong('must be a UUID.')),
  // The same form as in results.
  bytes: (value) =>
    typeof value === 'string' && BASE64.test(value) ? right(value) : wrong('must be bytes as base64 with its padding.'),
  json(value) {
    if (value === undefined) return wrong('must be JSON.');
    if (typeof value === 'string' && isJsonText(value)) return wrong('must be the object or array itself, not its JSON as text.');
    return isDeeper(value, MAX_DEPTH) ? wrong(TOO_DEEP) : right(value as Json);
  },
};

/** Whether a string is a JSON object or array: some clients serialize arguments twice. */
function isJsonText(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isDate(text: string): boolean {
  const [, year, month, day] = DATE.exec(text) ?? [];
  if (year === undefined || year === '0000') return false;
  const date = new Date(`${text}T00:00:00Z`);
  return date.getUTCMonth() + 1 === Number(month) && date.getUTCDate() === Number(day);
}

/** Compares a checked number, possibly exact digits in a string, with a bound. */
function compare(value: Json, bound: number): number {
  if (typeof value !== 'string') return Number(value) - bound;
  const rough = Number(value) - bound;
  const written = String(bound);
  if (rough !== 0 || !DECIMAL.test(written)) return rough;
  const places = Math.max(decimals(value), decimals(written));
  const difference = scaled(value, places) - scaled(written, places);
  return difference < 0n ? -1 : Number(difference > 0n);
}

const decimals = (text: string): number => text.split('.')[1]?.length ?? 0;
const scaled = (text: string, places: number): bigint => BigInt(text.replace('.', '') + '0'.repeat(places - decimals(text)));

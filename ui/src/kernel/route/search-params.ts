import type { Router } from './router.ts';

/** How one query parameter is read and written; what cannot be read is the value that stands for "not given". */
interface Param<T> {
  readonly empty: T;
  // Methods, so that a table of several kinds is one type.
  read(text: string): T;
  write(value: T): string;
}

export const text = (empty = ''): Param<string> => ({ empty, read: (value) => value, write: (value) => value });

export const choice = <const T extends string>(options: readonly T[]): Param<T | undefined> => ({
  empty: undefined,
  read: (value) => options.find((option) => option === value),
  write: (value) => value ?? '',
});

/** One of the options; the first stands for "not given". */
export const oneOf = <const T extends string>(options: readonly [T, ...T[]]): Param<T> => ({
  empty: options[0],
  read: (value) => options.find((option) => option === value) ?? options[0],
  write: (value) => value,
});

/** Several values, written with commas between them. */
export const many = (): Param<readonly string[]> => ({
  empty: [],
  read: (value) => value.split(',').map(decodePart).filter(Boolean),
  write: (values) => values.map((value) => value.replaceAll('%', '%25').replaceAll(',', '%2C')).join(','),
});

export const whole = (empty: number): Param<number> => ({
  empty,
  read: (value) => (/^\d{1,9}$/.test(value) ? Number(value) : empty),
  write: String,
});

export const flag = (): Param<boolean | undefined> => ({
  empty: undefined,
  read: (value) => ({ yes: true, no: false })[value],
  write: (value) => (value === undefined ? '' : value ? 'yes' : 'no'),
});

const decodePart = (part: string): string => part.replaceAll('%2C', ',').replaceAll('%25', '%');

type Values<P> = { [K in keyof P]: P[K] extends Param<infer T> ? T : never };

export interface SearchParams<P> {
  get<K extends keyof P & string>(name: K): Values<P>[K];
  set(values: Partial<Values<P>>): void;
  /** The address with these values, for links. */
  href(values: Partial<Values<P>>): string;
  /** The value as the address has it: empty when it is not given. */
  written(name: keyof P & string): string;
  write(name: keyof P & string, text: string): void;
  /** Back to the values that stand for "not given"; all of them when none is named. */
  clear(...names: (keyof P & string)[]): void;
  /** How many differ from what stands for "not given". */
  active(...names: (keyof P & string)[]): number;
}

/** Filters whose only state is the address: a link or a reload shows the same list. */
export function createSearchParams<P extends Record<string, Param<unknown>>>(
  router: Pick<Router, 'query' | 'setQuery' | 'hrefWith'>,
  params: P,
): SearchParams<P> {
  const all = Object.keys(params);
  const of = (name: string) => params[name] as unknown as Param<unknown>;
  const written = (name: string, value: unknown): string => {
    const param = of(name);
    const written_text = param.write(value);
    return written_text === param.write(param.empty) ? '' : written_text;
  };
  const writtenAll = (values: object) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, written(name, value)]));
  const read = (name: string): unknown => {
    const given = router.query().get(name);
    return given === null ? of(name).empty : of(name).read(given);
  };
  return {
    get: (name) => read(name) as never,
    set: (values) => router.setQuery(writtenAll(values)),
    href: (values) => router.hrefWith(writtenAll(values)),
    written: (name) => written(name, read(name)),
    write: (name, value) => router.setQuery({ [name]: value }),
    clear: (...names) => router.setQuery(Object.fromEntries((names.length > 0 ? names : all).map((name) => [name, '']))),
    active: (...names) => (names.length > 0 ? names : all).filter((name) => written(name, read(name)) !== '').length,
  };
}

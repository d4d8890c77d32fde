import { REDACTED } from '#core/contract/history.ts';

/**
 * The same value with something else in the place of what OAuth clients say of their callers. Row-level rules read these values, so
 * only administrators do; their names show what there is. What holds none is answered as it is.
 */
export function hideClaims<T>(value: T): T {
  return hidden(value, false) as T;
}

function hidden(value: unknown, of_clients: boolean): unknown {
  if (typeof value !== 'object' || value === null) return value;
  let copy: unknown[] | Record<string, unknown> | undefined;
  for (const [name, item] of Object.entries(value)) {
    const is_hidden = of_clients && name === 'claims' && typeof item === 'object' && item !== null;
    const shown = is_hidden ? withoutValues(item) : hidden(item, of_clients || name === 'oauth_clients');
    if (shown === item) continue;
    copy ??= Array.isArray(value) ? [...value] : { ...value };
    Reflect.set(copy, name, shown);
  }
  return copy ?? value;
}

const withoutValues = (claims: object): object => Object.fromEntries(Object.keys(claims).map((name) => [name, REDACTED]));

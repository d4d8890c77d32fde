import { count, num } from '#ui/src/kernel/numbers.ts';
import { capital, duration, plural } from '#ui/src/kernel/words.ts';
import type { Definition, Numbers } from './traffic.ts';

export const ALL_CLIENTS = 'all clients';
/** Clients beyond the first hundred, summed up by the server. */
export const OTHER_CLIENTS = '*';

export function clientWord(name: string): string {
  if (name === '') return 'Unnamed client';
  if (name === OTHER_CLIENTS) return 'Other clients';
  return name === ALL_CLIENTS ? 'All clients' : name;
}

export const shortNumbers = ({ calls, p95_ms }: Numbers): string =>
  `${count(calls)} ${calls === 1 ? 'call' : 'calls'} · ${duration(p95_ms)}`;

/** Text while there are no calls; in a drawing of all definitions, the kind of each. */
export const quietText = (hour: Pick<Numbers, 'calls'> | undefined, definition?: Pick<Definition, 'kind'>): string =>
  hour === undefined
    ? capital(definition?.kind ?? '')
    : `${count(hour.calls)} ${hour.calls === 1 ? 'call' : 'calls'} in the last hour`;

/** For screen readers, and on hover. */
export const numbersText = ({ calls, errors, p95_ms, longest_ms }: Numbers): string =>
  calls === 0
    ? 'no calls'
    : [
        plural(calls, 'call'),
        ...(errors === 0 ? [] : [`${num(errors)} failed`]),
        `p95 ${duration(p95_ms)}`,
        ...(longest_ms < 1 ? [] : [`waited up to ${duration(longest_ms)}`]),
      ].join(', ');

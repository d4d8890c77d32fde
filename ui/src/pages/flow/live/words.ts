import { count, num } from '#ui/src/kernel/numbers.ts';
import { duration, plural } from '#ui/src/kernel/words.ts';
import type { Numbers } from './traffic.ts';

export const ALL_CLIENTS = 'all clients';
/** Clients beyond the first hundred, as the server sums them up. */
export const OTHER_CLIENTS = '*';

export function clientWord(name: string): string {
  if (name === '') return 'Unnamed client';
  if (name === OTHER_CLIENTS) return 'Other clients';
  return name === ALL_CLIENTS ? 'All clients' : name;
}

export const shortNumbers = ({ calls, p95_ms }: Numbers): string =>
  `${count(calls)} ${calls === 1 ? 'call' : 'calls'} · ${duration(p95_ms)}`;

/** What stands where nothing is called now. */
export const quietText = (hour: Pick<Numbers, 'calls'> | undefined): string =>
  `${count(hour?.calls ?? 0)} ${hour?.calls === 1 ? 'call' : 'calls'} in the last hour`;

/** For whoever hears the page, and on hover. */
export const numbersText = ({ calls, errors, p95_ms, longest_ms }: Numbers): string =>
  calls === 0
    ? 'no calls'
    : [
        plural(calls, 'call'),
        ...(errors === 0 ? [] : [`${num(errors)} failed`]),
        `p95 ${duration(p95_ms)}`,
        ...(longest_ms < 1 ? [] : [`waited up to ${duration(longest_ms)}`]),
      ].join(', ');

import type { Call } from '#ui/src/api.ts';
import type { OperationName, Output, RawInput } from '#core/contract/index.ts';
import { createQuerySignals, keepEqual, type Query } from './query.ts';

/** Asks for the answer of an operation that reads; queries that ask for the same share one request. */
export type Read = <N extends OperationName>(name: N, input: RawInput<N>) => Promise<Output<N>>;

/** A query that belongs to a part of the page: `close` when that part is gone. */
export interface CachedQuery<T> extends Query<T> {
  /** Shows at once what is known and asks again for what is not new. */
  readonly show: () => Promise<void>;
  /** Whether something that it read is old, as `judge` says of its noun and the moment it was asked for. */
  readonly isOld: (judge: (nouns: readonly string[], since: number) => boolean) => boolean;
  readonly close: () => void;
}

export interface Cache {
  query<T>(load: (read: Read) => Promise<T>): CachedQuery<T>;
  /** What was read of these nouns is no longer true; undefined: nothing is. Whoever shows it reads it again. */
  invalidate(nouns?: readonly string[]): void;
}

/** Two parts of a page that ask one after the other share an answer this young. */
const SHARED_MS = 1_000;
/** A reload after a change shares the request that the change itself began. */
const SAME_MOMENT_MS = 100;
/** What nobody shows is kept this long, for who comes back. */
const KEPT_MS = 300_000;
const ANY_AGE = Number.NEGATIVE_INFINITY;

/** A reader that waits for its answer. */
const WAITS = Symbol('waits');

const nounOf = (name: OperationName): string => name.replace(/\..*/, '');

interface Entry {
  readonly name: OperationName;
  readonly input: unknown;
  /** Who reads it again when it changes, with the answer that it has. */
  readonly readers: Map<() => void, unknown>;
  /** When the newest request began; `ANY_AGE` when its answer is no longer true. */
  begun: number;
  answer: Promise<unknown> | undefined;
  value: unknown;
  abort: AbortController | undefined;
}

/** Answers of reading operations by name and input, for as long as they are true. */
export function createCache(call: Call, now: () => number = () => performance.now()): Cache {
  const entries = new Map<string, Entry>();

  const ask = (entry: Entry): Promise<unknown> => {
    const abort = new AbortController();
    entry.begun = now();
    entry.abort = abort;
    const answer: Promise<unknown> = call(entry.name, entry.input as never, abort.signal).then(
      (value: unknown) => {
        // Whoever waits for an answer that a newer one replaces waits for that one.
        if (entry.answer !== answer) return entry.answer ?? value;
        entry.value = keepEqual(entry.value, value);
        entry.abort = undefined;
        for (const [reader, given] of entry.readers) if (given !== WAITS && !Object.is(given, entry.value)) reader();
        return entry.value;
      },
      (fault: unknown) => {
        if (entry.answer !== answer && entry.answer !== undefined) return entry.answer;
        [entry.answer, entry.abort] = [undefined, undefined];
        throw fault;
      },
    );
    entry.answer = answer;
    return answer;
  };

  const leave = (entry: Entry, reader: () => void) => {
    entry.readers.delete(reader);
    if (entry.readers.size > 0 || entry.abort === undefined) return;
    entry.abort.abort();
    [entry.answer, entry.abort] = [undefined, undefined];
  };

  const entryOf = (name: OperationName, input: unknown): Entry => {
    const key = `${name} ${JSON.stringify(input)}`;
    const found = entries.get(key);
    if (found !== undefined) return found;
    for (const [other, { readers, begun }] of entries) if (readers.size === 0 && begun < now() - KEPT_MS) entries.delete(other);
    const entry: Entry = {
      name,
      input,
      readers: new Map(),
      begun: ANY_AGE,
      answer: undefined,
      value: undefined,
      abort: undefined,
    };
    entries.set(key, entry);
    return entry;
  };

  return {
    query<T>(load: (read: Read) => Promise<T>) {
      const signals = createQuerySignals<T>();
      let used = new Set<Entry>();
      let newest = 0;
      let latest: Promise<boolean> = Promise.resolve(false);
      let closed = false;

      const begin = async (oldest: number, fresh: number): Promise<boolean> => {
        newest += 1;
        const mine = newest;
        const reads = new Set<Entry>();
        let old = false;
        const read = async (name: OperationName, input: unknown) => {
          const entry = entryOf(name, input);
          if (mine === newest && !closed) {
            reads.add(entry);
            entry.readers.set(again, WAITS);
          }
          // A form begins with a record as it is now.
          const needed = name.endsWith('.get') ? fresh : oldest;
          const known = entry.begun !== ANY_AGE && entry.begun >= needed ? entry.answer : undefined;
          if (known !== undefined && entry.begun < fresh) old = true;
          const answer = await (known ?? ask(entry));
          if (entry.readers.has(again)) entry.readers.set(again, answer);
          return answer;
        };
        const before = used;
        used = reads;
        const loaded = signals.follow(
          () => load(read as Read),
          () => mine === newest && !closed,
        );
        for (const entry of before) if (!reads.has(entry)) leave(entry, again);
        await loaded;
        return mine === newest ? old && !closed : latest;
      };
      /** @returns whether something older than `fresh` was shown. */
      const run = (oldest: number, fresh: number): Promise<boolean> => (latest = begin(oldest, fresh));
      const again = () => void run(ANY_AGE, ANY_AGE);

      return {
        ...signals.query,
        async show() {
          const fresh = now() - SHARED_MS;
          if (await run(ANY_AGE, fresh)) await run(fresh, fresh);
        },
        async reload() {
          const fresh = now() - SAME_MOMENT_MS;
          await run(fresh, fresh);
        },
        isOld: (judge) =>
          [...used].some(({ name, begun, answer }) => answer === undefined || judge([nounOf(name)], begun)),
        close() {
          closed = true;
          for (const entry of used) leave(entry, again);
        },
      };
    },
    invalidate(nouns) {
      const notified = new Set<() => void>();
      for (const [key, entry] of entries) {
        const [noun = '', verb] = entry.name.split('.');
        // The record under an open form changes when the form is saved or opened again.
        if ((nouns !== undefined && !nouns.includes(noun)) || (verb === 'get' && entry.readers.size > 0)) continue;
        entry.begun = ANY_AGE;
        if (entry.readers.size === 0) entries.delete(key);
        for (const reader of entry.readers.keys()) notified.add(reader);
      }
      for (const reader of notified) reader();
    },
  };
}

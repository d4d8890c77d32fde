import type { Call } from '#ui/src/api.ts';
import type { OperationName, Output, RawInput } from '#core/contract/index.ts';
import { isEdited, sourcesOf } from './freshness.ts';
import { createQuerySignals, keepEqual, type Query } from './query.ts';
import type { Refresher } from './refresher.ts';

/** Reads an operation through the cache; queries with the same input share one request. */
export type Read = <N extends OperationName>(name: N, input: RawInput<N>) => Promise<Output<N>>;

/** A query of a part of the page; `close` it when that part unmounts. */
export interface CachedQuery<T> extends Query<T> {
  /** Shows cached answers at once and reloads those that are not fresh. */
  readonly show: () => Promise<void>;
  readonly close: () => void;
}

export interface Cache {
  /** @param live whether changes of other people reload it; otherwise this holds for all but the records that forms edit. */
  query<T>(load: (read: Read) => Promise<T>, live?: boolean): CachedQuery<T>;
  /** Marks answers that are derived from a source as outdated; undefined: all. Visible ones reload. */
  invalidate(source?: string): void;
}

/** Two parts of a page that read one after the other share an answer up to this age. */
const SHARED_MS = 1_000;
/** A reload after a change shares the request that the change triggered. */
const SAME_MOMENT_MS = 100;
/** Lifetime of answers without a reader, for a person who returns to the page. */
const UNREAD_MS = 300_000;
const ANY_AGE = Number.NEGATIVE_INFINITY;

/** A reader that waits for its answer. */
const WAITS = Symbol('waits');

interface Entry {
  readonly name: OperationName;
  readonly input: unknown;
  /** Readers to notify of a change, with the answer that each has. */
  readonly readers: Map<() => void, unknown>;
  /** Start time of the newest request; `ANY_AGE` when its answer is outdated. */
  begun: number;
  answer: Promise<unknown> | undefined;
  value: unknown;
  abort: AbortController | undefined;
  /** Ends the automatic reloads. */
  unfollow: (() => void) | undefined;
}

/** Answers of reading operations by name and input, until they are outdated. */
export function createCache(call: Call, now: () => number = () => performance.now(), follow?: Refresher): Cache {
  const entries = new Map<string, Entry>();

  const ask = (entry: Entry): Promise<unknown> => {
    const abort = new AbortController();
    entry.begun = now();
    entry.abort = abort;
    const answer: Promise<unknown> = call(entry.name, entry.input as never, abort.signal).then(
      (value: unknown) => {
        // A newer request replaced this one, so its callers get the newer answer.
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
    if (entry.readers.size > 0) return;
    entry.unfollow?.();
    entry.unfollow = undefined;
    if (entry.abort === undefined) return;
    entry.abort.abort();
    [entry.answer, entry.abort] = [undefined, undefined];
  };

  const entryOf = (name: OperationName, input: unknown): Entry => {
    const key = `${name} ${JSON.stringify(input)}`;
    const found = entries.get(key);
    if (found !== undefined) return found;
    for (const [other, { readers, begun }] of entries) if (readers.size === 0 && begun < now() - UNREAD_MS) entries.delete(other);
    const entry: Entry = {
      name,
      input,
      readers: new Map(),
      begun: ANY_AGE,
      answer: undefined,
      value: undefined,
      abort: undefined,
      unfollow: undefined,
    };
    entries.set(key, entry);
    return entry;
  };

  const notify = (list: readonly Entry[]) => {
    for (const reader of new Set(list.flatMap(({ readers }) => [...readers.keys()]))) reader();
  };
  const shownAnswer = (entry: Entry) => ({
    name: entry.name,
    since: () => (entry.abort === undefined ? entry.begun : undefined),
    // An equal answer notifies no reader, so a page to which nothing happens draws nothing again.
    reload: () => void ask(entry).catch(() => notify([entry])),
  });

  return {
    query<T>(load: (read: Read) => Promise<T>, live?: boolean) {
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
            if (live ?? !isEdited(name)) entry.unfollow ??= follow?.(shownAnswer(entry));
          }
          // A form starts with the current record.
          const needed = isEdited(name) ? fresh : oldest;
          const known = entry.begun !== ANY_AGE && entry.begun >= needed ? entry.answer : undefined;
          if (known !== undefined && entry.begun < fresh) old = true;
          const note = (given: unknown) => void (entry.readers.has(again) && entry.readers.set(again, given));
          const answer = await (known ?? ask(entry)).catch((fault: unknown) => {
            note(undefined);
            throw fault;
          });
          note(answer);
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
      /** @returns whether an answer older than `fresh` was shown. */
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
        close() {
          closed = true;
          for (const entry of used) leave(entry, again);
        },
      };
    },
    invalidate(source) {
      const outdated: Entry[] = [];
      for (const [key, entry] of entries) {
        if (source !== undefined && !sourcesOf(entry.name).includes(source)) continue;
        const is_edited = isEdited(entry.name);
        if (entry.readers.size === 0) entries.delete(key);
        else if (!is_edited) outdated.push(entry);
        // The record of an open form is replaced only when the form is saved or opened again; a live query compares it.
        if (!is_edited || entry.unfollow !== undefined) entry.begun = ANY_AGE;
      }
      notify(outdated);
    },
  };
}

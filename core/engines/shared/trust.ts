import { AppError } from '#core/errors.ts';

/** What a text may name. Told from its letters alone, so that nothing it names is missed; it may name less. */
export interface Words {
  /** The name could stand in the text, in whatever case, quoted or not. */
  mentions(name: string): boolean;
  /** The letters of an operator stand in the text. */
  contains(letters: string): boolean;
}

const PLAIN = /^[a-z0-9_]+$/i;

/** Longer names are cut to this by PostgreSQL (`NAMEDATALEN`), which is more than MySQL allows. */
const NAME_BYTES = 63;

/** Which fixed texts run nothing but a database's own code, as long as nobody changes what it holds. */
export interface Trust {
  /** Null: the text is new, or what is known is too old; `check` it. Now and then it is looked at again beside the calls. */
  known(text: string): boolean | null;
  /** Looks first. Rejects when the database cannot be reached; whatever else goes wrong makes the text no trusted one. */
  check(text: string): Promise<boolean>;
}

export interface TrustOptions<Untrusted> {
  /** Asks the database what can run code of somebody else's. @param before the last answer, given again when nothing changed. */
  readonly ask: (before: string | null) => Promise<string>;
  readonly parse: (answer: string) => Untrusted;
  readonly isNamed: (text: string, untrusted: Untrusted) => boolean;
  /** Something changed, so sessions may have met what was not known of. */
  readonly onChange: () => void;
}

/** Milliseconds after which it is looked at again beside the calls, and after which a call waits for that. */
const DUE_MS = 2_000;

const OLD_MS = 10_000;

/** Milliseconds that a look may take: a database that is slower shares no sessions for now. */
export const LOOK_MS = 3_000;

/** Looking takes at most one part in so many of the time. */
const SHARE = 50;

/** Texts beyond so many are not looked at, and not trusted. */
const TEXTS = 10_000;

export function createTrust<Untrusted>({ ask, parse, isNamed, onChange }: TrustOptions<Untrusted>): Trust {
  let answer: string | null = null;
  let untrusted: Untrusted | null = null;
  let since = Number.NEGATIVE_INFINITY;
  let due = Number.NEGATIVE_INFINITY;
  let looking: Promise<unknown> | null = null;
  const verdicts = new Map<string, boolean>();

  async function lookNow(): Promise<unknown> {
    const began = performance.now();
    let next: string | null = null;
    let fault: unknown = null;
    try {
      next = await ask(answer);
    } catch (error) {
      fault = error;
    }
    const took = performance.now() - began;
    due = performance.now() + Math.min(Math.max(DUE_MS, took * SHARE), OLD_MS / 2);
    // What was known holds on for its time.
    if (next === null && began - since <= OLD_MS) return fault;
    since = began;
    if (next === answer) return fault;
    if (answer !== null) onChange();
    answer = next;
    untrusted = next === null ? null : parse(next);
    verdicts.clear();
    return fault;
  }

  const look = (): Promise<unknown> => (looking ??= lookNow().finally(() => (looking = null)));

  function judge(text: string): boolean {
    const verdict = untrusted !== null && !isNamed(text, untrusted);
    verdicts.set(text, verdict);
    return verdict;
  }

  return {
    known(text) {
      const now = performance.now();
      if (looking === null && now > due) void look();
      if (now - since > OLD_MS) return null;
      return verdicts.get(text) ?? (verdicts.size < TEXTS ? null : false);
    },
    async check(text) {
      const fault = await look();
      if (isUnreachable(fault)) throw fault;
      return judge(text);
    },
  };
}

/** The call itself would meet the same, after as long a wait. */
const isUnreachable = (fault: unknown): fault is AppError =>
  fault instanceof AppError && (fault.code === 'database_unreachable' || fault.code === 'private_network_blocked');

export function wordsOf(text: string): Words {
  const lower = text.toLowerCase();
  const words = new Set(lower.split(/[^a-z0-9_]+/).flatMap((word) => [word, word.slice(0, NAME_BYTES)]));
  return {
    mentions(name) {
      const wanted = name.toLowerCase();
      if (PLAIN.test(name)) return words.has(wanted);
      return (
        lower.includes(wanted) || lower.includes(wanted.replaceAll('"', '""')) || lower.includes(wanted.replaceAll('`', '``'))
      );
    },
    contains: (letters) => text.includes(letters),
  };
}

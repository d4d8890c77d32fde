import { AppError, type ErrorCode, TUNNEL_CODES } from '#core/errors.ts';

/** The words of a statement's text. They are found without a parser, so that no name is missed; some may not be names. */
export interface Words {
  /** True when the name may occur in the text, in any case, quoted or not. */
  mentions(name: string): boolean;
  /** True when the characters of an operator occur in the text. */
  contains(letters: string): boolean;
}

const PLAIN = /^[a-z0-9_]+$/i;

/** PostgreSQL truncates longer names (`NAMEDATALEN`); MySQL does not allow names as long. */
const NAME_BYTES = 63;

/** Decides which fixed texts only run the database's built-in code, as long as its schema does not change. */
export interface Trust {
  /** Null: the text is new or the answer too old; call `check`. Answers are refreshed in the background from time to time. */
  known(text: string): boolean | null;
  /** Refreshes first. Rejects when the database cannot be reached; after any other failure the text is not trusted. */
  check(text: string): Promise<boolean>;
}

export interface TrustOptions<Untrusted> {
  /**
   * Queries the database for objects that can run code of other users. @param before the previous answer, returned again when
   * nothing changed.
   */
  readonly ask: (before: string | null) => Promise<string>;
  readonly parse: (answer: string) => Untrusted;
  readonly isNamed: (text: string, untrusted: Untrusted) => boolean;
  /** Called when something changed: sessions may have used objects that were not known. */
  readonly onChange: () => void;
}

/** Milliseconds after which the answer is refreshed in the background, and after which a call waits for the refresh. */
const DUE_MS = 2_000;

const MAX_AGE_MS = 10_000;

/** Milliseconds that a refresh may take. While it takes longer, sessions are not shared. */
export const REFRESH_TIMEOUT_MS = 3_000;

/** Pause after a refresh as a multiple of its duration, so that refreshing takes at most 2 % of the time. */
const PAUSE_FACTOR = 50;

/** Maximum of checked texts; further ones are not trusted. */
const MAX_TEXTS = 10_000;

export function createTrust<Untrusted>({ ask, parse, isNamed, onChange }: TrustOptions<Untrusted>): Trust {
  let answer: string | null = null;
  let untrusted: Untrusted | null = null;
  let since = Number.NEGATIVE_INFINITY;
  let due = Number.NEGATIVE_INFINITY;
  let refreshing: Promise<unknown> | null = null;
  const verdicts = new Map<string, boolean>();

  async function refreshNow(): Promise<unknown> {
    const began = performance.now();
    let next: string | null = null;
    let fault: unknown = null;
    try {
      next = await ask(answer);
    } catch (error) {
      fault = error;
    }
    const took = performance.now() - began;
    due = performance.now() + Math.min(Math.max(DUE_MS, took * PAUSE_FACTOR), MAX_AGE_MS / 2);
    // The previous answer remains valid until it expires.
    if (next === null && began - since <= MAX_AGE_MS) return fault;
    since = began;
    if (next === answer) return fault;
    if (answer !== null) onChange();
    answer = next;
    untrusted = next === null ? null : parse(next);
    verdicts.clear();
    return fault;
  }

  const refresh = (): Promise<unknown> => (refreshing ??= refreshNow().finally(() => (refreshing = null)));

  function checkText(text: string): boolean {
    const verdict = untrusted !== null && !isNamed(text, untrusted);
    verdicts.set(text, verdict);
    return verdict;
  }

  return {
    known(text) {
      const now = performance.now();
      if (refreshing === null && now > due) void refresh();
      if (now - since > MAX_AGE_MS) return null;
      return verdicts.get(text) ?? (verdicts.size < MAX_TEXTS ? null : false);
    },
    async check(text) {
      const fault = await refresh();
      if (isUnreachable(fault)) throw fault;
      return checkText(text);
    },
  };
}

/** The call would get the same error after waiting as long. */
const isUnreachable = (fault: unknown): fault is AppError => fault instanceof AppError && UNREACHABLE.includes(fault.code);

const UNREACHABLE: readonly ErrorCode[] = ['database_unreachable', 'private_network_blocked', ...TUNNEL_CODES];

export function wordsOf(text: string): Words {
  const lower = text.toLowerCase();
  const words = new Set(lower.split(/[^a-z0-9_]+/).flatMap((word) => [word, word.slice(0, NAME_BYTES)]));
  return {
    mentions(name) {
      const lower_name = name.toLowerCase();
      if (PLAIN.test(name)) return words.has(lower_name);
      return (
        lower.includes(lower_name) ||
        lower.includes(lower_name.replaceAll('"', '""')) ||
        lower.includes(lower_name.replaceAll('`', '``'))
      );
    },
    contains: (letters) => text.includes(letters),
  };
}

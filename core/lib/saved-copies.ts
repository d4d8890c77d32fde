/** Copies of a program's state on its disk, and why one of them is out of date. */
export interface SavedCopies {
  /**
   * Writes a copy. A failed write is repeated until it works, or until a later one with this name replaces it.
   * @param name stands at the beginning of a sentence, such as `The list of access tokens`.
   * @returns resolves after the first attempt, whether or not it worked.
   */
  save(this: void, name: string, write: () => Promise<void>): Promise<void>;
  /** Notes how a write ended that its caller repeats. @param error null: it worked. */
  note(this: void, name: string, error: unknown): void;
  /** A sentence for each copy that could not be written. */
  faults(this: void): string[];
}

export interface SavedCopiesOptions {
  /** Called when a write begins to fail, fails for another reason, or works again (`error` null). */
  readonly onChange: (name: string, error: unknown) => void;
  readonly retry_ms?: number;
}

const RETRY_MS = 5_000;

interface Copy {
  latest: () => Promise<void>;
  turn: Promise<void>;
}

export function createSavedCopies({ onChange, retry_ms = RETRY_MS }: SavedCopiesOptions): SavedCopies {
  const copies = new Map<string, Copy>();
  /** Sentences by name. */
  const faults = new Map<string, string>();
  const note = (name: string, error: unknown): void => {
    const fault = error === null ? undefined : `${name} could not be saved: ${reasonOf(error)}`;
    if (fault === faults.get(name)) return;
    if (fault === undefined) faults.delete(name);
    else faults.set(name, fault);
    onChange(name, error);
  };
  const attempt = async (name: string, copy: Copy, write: () => Promise<void>): Promise<void> => {
    if (copy.latest !== write) return;
    try {
      await write();
      note(name, null);
    } catch (error) {
      note(name, error);
      setTimeout(() => void start(name, copy, write), retry_ms).unref();
    }
  };
  /** Writes of one copy run one after the other. */
  const start = (name: string, copy: Copy, write: () => Promise<void>): Promise<void> => {
    copy.turn = copy.turn.then(() => attempt(name, copy, write));
    return copy.turn;
  };
  return {
    save(name, write) {
      const copy = copies.get(name) ?? { latest: write, turn: Promise.resolve() };
      copies.set(name, copy);
      copy.latest = write;
      return start(name, copy, write);
    },
    note,
    faults: () => [...faults.values()],
  };
}

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full.',
  EDQUOT: 'the quota of the disk is used up.',
  EROFS: 'the file system is read-only.',
  EACCES: 'the folder may not be written to.',
  EPERM: 'the folder may not be written to.',
  ENOENT: 'the folder is missing.',
  EIO: 'the disk reports an error.',
  EMFILE: 'too many files are open.',
};

/** Without paths, which are for the log. */
function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return REASONS[code] ?? 'the log has the reason.';
}

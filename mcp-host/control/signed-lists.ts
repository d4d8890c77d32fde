import type { SignedList, SignedListsEvent } from '#core/contract/deploy/signed-lists.ts';
import type { SavedCopies } from '#core/lib/saved-copies.ts';
import type { Log } from '#core/process/log.ts';
import { type ListFile, listFile } from '#mcp-host/auth/list-file.ts';
import { isMembers } from '#mcp-host/protocol/messages.ts';

/** The signed lists of definitions as the server last sent them. A disconnected host goes on serving them until they expire. */
export interface SignedLists {
  /** Loads them from disk, unless the server has already sent some. */
  load(): Promise<void>;
  /** Uses them at once, and saves them in the background. */
  use(news: SignedListsEvent): void;
  /** Resolves after the first attempt to save the latest ones. */
  saved(): Promise<void>;
  /** Null: there is none. */
  find(list: string, snapshot: { readonly snapshot_version: number; readonly checksum: string }): SignedList | null;
  keys(): SignedListsEvent['keys'];
}

const COPY = 'The signatures of definitions';

export const signedListsFile = (path: string): ListFile<SignedListsEvent> =>
  listFile(path, isSignedLists, 'a list of signatures');

const isSignedLists = (value: unknown): value is SignedListsEvent =>
  isMembers(value) && Array.isArray(value['keys']) && Array.isArray(value['lists']);

export function createSignedLists(file: ListFile<SignedListsEvent>, copies: Pick<SavedCopies, 'save'>, log: Log): SignedLists {
  let latest: SignedListsEvent | null = null;
  /** Those before: signatures arrive before the version that they are about, and until then the older one is served. */
  let earlier: SignedListsEvent | null = null;
  let saving: Promise<void> = Promise.resolve();
  return {
    async load() {
      try {
        const stored = await file.read();
        latest ??= stored;
      } catch (error) {
        log.error('signatures_file_damaged', { error: String(error) });
      }
    },
    use(news) {
      earlier = latest;
      latest = news;
      saving = copies.save(COPY, () => file.write(news));
    },
    saved: () => saving,
    find(list, { snapshot_version, checksum }) {
      const fits = (one: SignedList) =>
        one.list === list && one.snapshot_version === snapshot_version && one.checksum === checksum;
      return latest?.lists.find(fits) ?? earlier?.lists.find(fits) ?? null;
    },
    keys: () => latest?.keys ?? [],
  };
}

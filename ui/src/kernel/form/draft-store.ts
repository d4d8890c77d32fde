import * as v from 'valibot';
import type { Storage } from '#ui/src/kernel/storage.ts';
import { parseJson } from '../json.ts';

/** The fields of a form that differ from the stored record. */
interface KeptDraft {
  readonly fields: Readonly<Record<string, unknown>>;
  /** Version of the record when the form was opened; null: it is new. */
  readonly version: number | null;
}

interface DraftStore {
  read(key: string): KeptDraft | undefined;
  /** Without a draft, the stored draft of the address is removed. */
  keep(key: string, draft: KeptDraft | undefined): void;
}

const KEY = 'drafts';
const MOST = 20;

const Stored = v.record(v.string(), v.object({ fields: v.record(v.string(), v.unknown()), version: v.nullable(v.number()) }));

/** Unsaved forms of closed pages, in this browser; the oldest beyond twenty is removed. */
export function createDraftStore(storage: Storage): DraftStore {
  const all = (): v.InferOutput<typeof Stored> => {
    const found = v.safeParse(Stored, parseJson(storage.read(KEY) ?? ''));
    return found.success ? found.output : {};
  };
  return {
    read: (key) => all()[key],
    keep(key, draft) {
      const { [key]: before, ...others } = all();
      if (before === undefined && draft === undefined) return;
      const next = [...Object.entries(others), ...(draft === undefined ? [] : [[key, draft] as const])].slice(-MOST);
      storage.write(KEY, next.length === 0 ? undefined : JSON.stringify(Object.fromEntries(next)));
    },
  };
}

import * as v from 'valibot';
import type { Storage } from '#ui/src/kernel/storage.ts';
import { parseJson } from '../json.ts';

/** The fields of a form that differ from what was stored when somebody began to change it. */
interface KeptDraft {
  readonly fields: Readonly<Record<string, unknown>>;
  /** Of the record that the form began with; null: it is new. */
  readonly version: number | null;
}

interface KeptDrafts {
  read(place: string): KeptDraft | undefined;
  /** Without a draft, what is kept of the place is forgotten. */
  keep(place: string, draft: KeptDraft | undefined): void;
}

const KEY = 'drafts';
const MOST = 20;

const Stored = v.record(v.string(), v.object({ fields: v.record(v.string(), v.unknown()), version: v.nullable(v.number()) }));

/** Forms that were not saved when their page was closed, in this browser; of more than twenty the oldest goes. */
export function createKeptDrafts(storage: Storage): KeptDrafts {
  const all = (): v.InferOutput<typeof Stored> => {
    const found = v.safeParse(Stored, parseJson(storage.read(KEY) ?? ''));
    return found.success ? found.output : {};
  };
  return {
    read: (place) => all()[place],
    keep(place, draft) {
      const { [place]: before, ...others } = all();
      if (before === undefined && draft === undefined) return;
      const next = [...Object.entries(others), ...(draft === undefined ? [] : [[place, draft] as const])].slice(-MOST);
      storage.write(KEY, next.length === 0 ? undefined : JSON.stringify(Object.fromEntries(next)));
    },
  };
}

import type { Output } from '#core/contract/index.ts';
import { toCsv } from '#core/lib/csv.ts';
import { saveFile } from '#ui/src/kernel/save-file.ts';

export type CallEntry = Output<'logs.list'>['items'][number];

const PAGE = 200;
const MOST = 10_000;
const COLUMNS = [
  'timestamp',
  'kind',
  'name',
  'success',
  'outcome',
  'error',
  'confirmation',
  'duration_ms',
  'wait_ms',
  'rows',
  'client',
  'token_prefix',
  'token_name',
  'connection_id',
  'snapshot_version',
  'canary',
] as const satisfies readonly (keyof CallEntry)[];

/** Reads the newest calls page by page and downloads them as a file. */
export async function saveCalls(
  form: 'csv' | 'json',
  load: (skip: number, limit: number) => Promise<Output<'logs.list'>>,
): Promise<{ saved: number; total: number }> {
  const entries = new Map<string, CallEntry>();
  let total = 0;
  for (let skip = 0; skip < MOST; skip += PAGE) {
    const page = await load(skip, PAGE);
    total = page.total;
    // New calls shift the pages, so some entries are read twice.
    for (const entry of page.items) entries.set(entry.id, entry);
    if (skip + page.items.length >= total || page.items.length === 0) break;
  }
  const list = [...entries.values()];
  const text =
    form === 'csv'
      ? toCsv(
          COLUMNS,
          list.map((entry) => COLUMNS.map((column) => entry[column])),
        )
      : JSON.stringify(list, null, 2);
  saveFile(`calls.${form}`, form === 'csv' ? 'text/csv' : 'application/json', text);
  return { saved: list.length, total };
}

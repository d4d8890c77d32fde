import type { OpenRowFile } from './row-file.ts';
import { openCsv, openJsonLines } from './text-files.ts';

/** The formats of a file with a whole result. Those that few installations use are loaded at their first use. */
const FORMATS = {
  csv: async () => openCsv,
  jsonl: async () => openJsonLines,
  parquet: async () => (await import('./parquet-file.ts')).openParquet,
  xlsx: async () => (await import('./xlsx-file.ts')).openXlsx,
} as const satisfies Readonly<Record<string, () => Promise<OpenRowFile>>>;
export type RowFileFormat = keyof typeof FORMATS;

export const rowFileOf = (format: RowFileFormat): Promise<OpenRowFile> => FORMATS[format]();

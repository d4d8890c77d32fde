import type { Column, Row } from '#core/lib/sql/result.ts';

/** Writes rows as the bytes of one file. */
export interface RowFile {
  readonly mime_type: string;
  /** @param rows the next ones. Throws `too_large` for what the format does not hold. */
  write(rows: readonly Row[]): Uint8Array;
  /** The bytes after the last row. */
  end(): Uint8Array;
}

/** @param columns as callers see them. */
export type OpenRowFile = (columns: readonly Column[]) => RowFile;

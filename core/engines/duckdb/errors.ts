import { AppError } from '#core/errors.ts';
import { messageStart, onOneLine } from '../shared/bounded-text.ts';
import type { DuckdbFault } from './requests.ts';

interface Complaint {
  readonly kind: string;
  readonly message: string;
  /** Offset in bytes of UTF-8. */
  readonly position: number | null;
}

export const OUT_OF_MEMORY =
  'The statement needs more memory than a DuckDB process may use, so it was stopped; read fewer rows or columns at once.';
const FILES = 'A statement can only read the tables of its own database, not files.';
export const NOT_INSTALLED =
  'The DuckDB package is missing here: install the optional dependency @duckdb/node-api (npm install --include=optional), then try again.';

export const NOT_BUILT_IN =
  'This executable is built without DuckDB. Run Sluice from the npm package to use DuckDB files and folders of files.';

/** Errors whose message quotes a value or the statement, which can contain any words. */
const QUOTING: ReadonlySet<string> = new Set(['Conversion', 'Invalid Input', 'Out of Range', 'Parser', 'Binder', 'Catalog']);

/** @param text the sent text, used to find the position in it. */
export function toDuckdbError({ message, refused, writes }: DuckdbFault, text?: string): AppError {
  if (refused !== null) return new AppError(writes ? 'not_read_only' : 'sql_error', refused);
  const found = complaintOf(message);
  const cause = { message };
  const message_text = QUOTING.has(found.kind) ? '' : found.message;
  if (found.kind === 'Out of Memory' || /out of memory|failed to allocate|bad_alloc|could not allocate/i.test(message_text)) {
    return new AppError('sql_error', OUT_OF_MEMORY, { cause });
  }
  if (/could not set lock|conflicting lock/i.test(message_text)) {
    return new AppError('unavailable', 'Another program has this DuckDB file open for writing; try again when it is done.', {
      cause,
      retry_after: 2,
    });
  }
  if (found.kind === 'Permission') return new AppError('sql_error', FILES, { cause });
  if (found.kind === 'FATAL' || found.kind === 'INTERNAL' || /database has been invalidated/i.test(message_text)) {
    return new AppError('database_unreachable', 'DuckDB failed and was started again; try again.', { cause, reason: 'failed' });
  }
  const position = found.position === null || text === undefined ? undefined : characterOf(text, found.position);
  return new AppError('sql_error', plain(found.message), {
    cause,
    ...(found.kind !== '' && { reason: found.kind }),
    ...(position === undefined ? {} : { position }),
  });
}

/** Why a file cannot be opened. DuckDB's message is not used, because it contains the path and other processes. */
export function toOpeningError({ message, refused }: DuckdbFault): AppError {
  const cause = { message, refused };
  const found = complaintOf(message);
  if (/could not set lock|conflicting lock/i.test(found.message)) return toDuckdbError({ message, refused: null, writes: false });
  if (/wal|replay/i.test(found.message)) {
    return new AppError('unavailable', 'The DuckDB file was not closed properly; open it once with the program that writes it.', {
      cause,
    });
  }
  const detail = /version|newer|older/i.test(found.message)
    ? 'The DuckDB file has a storage version that this DuckDB cannot read; export it again with DuckDB 1.5.'
    : 'The file is not a readable DuckDB database.';
  return new AppError('database_unreachable', detail, { cause, reason: 'failed' });
}

function complaintOf(message: string): Complaint {
  // Parser errors have a prefix before their JSON.
  const start = message.indexOf('{"');
  try {
    const { exception_type, exception_message, position } = JSON.parse(message.slice(Math.max(start, 0))) as Record<
      string,
      unknown
    >;
    return {
      kind: String(exception_type),
      message: messageStart(String(exception_message)),
      position: typeof position === 'string' && /^\d{1,9}$/.test(position) ? Number(position) : null,
    };
  } catch {
    return { kind: /^(FATAL|INTERNAL)\b/.exec(message)?.[1] ?? '', message: messageStart(message), position: null };
  }
}

/** One line, because DuckDB puts hints below its sentence. */
const plain = (message: string): string => onOneLine(message) || 'DuckDB refused the statement';

/** Converts an offset in bytes of UTF-8 to one in characters. */
function characterOf(text: string, bytes: number): number {
  return new TextDecoder().decode(new TextEncoder().encode(text).subarray(0, bytes)).length;
}

import type { Exchange, Part } from './exchange.ts';
import { executePrepared, parseMessage, SYNC } from './messages.ts';

/** Transaction status in ReadyForQuery: none, active, or failed. */
export const IDLE = 0x49;
const IN_TRANSACTION: ReadonlySet<number> = new Set([0x54, 0x45]);
/**
 * Prepared once per session, which halves PostgreSQL's cost of a transaction. Code in the database could replace them, but not
 * with another transaction command: the command tags and the status after them show it, and the session is then closed.
 */
const KEEP = [parseMessage('begin', 'begin read only', []), parseMessage('rollback', 'rollback', [])];
const KEEP_CHAIN = parseMessage('chain', 'rollback and chain', []);
const BEGIN = executePrepared('begin');
const ROLLBACK = executePrepared('rollback');
/** Ends one transaction and begins another of the same kind; a single command since PostgreSQL 12. */
const CHAIN = executePrepared('chain');
const ROLLBACK_AND_BEGIN = Buffer.concat([ROLLBACK, BEGIN]);
export const ROLLBACK_AND_SYNC = Buffer.concat([ROLLBACK, SYNC]);
export const TRANSACTION_TAGS: ReadonlySet<string> = new Set(['BEGIN', 'ROLLBACK']);

/** @param chains the server supports `rollback and chain`. */
export const keepCommands = (chains: boolean): Buffer => Buffer.concat([...KEEP, ...(chains ? [KEEP_CHAIN] : []), SYNC]);

/**
 * Each call has a separate transaction: it first ends the previous one, and the last call of a flight ends its transaction too. A
 * Sync makes the server answer at once, which costs more than the transaction, so calls that rarely fail have none.
 */
export function packFlight(waiting: readonly Part[], chains: boolean): Buffer[] {
  const parts: Buffer[] = [];
  let open: Exchange | null = null;
  for (const { bytes, exchange } of waiting) {
    const { kind } = exchange;
    if (kind === 'call' || kind === 'held') {
      if (open?.steady === true && exchange.steady) {
        open.joined = true;
        parts.push(withoutSync(parts.pop()));
      }
      if (open === null) parts.push(BEGIN);
      else parts.push(chains ? CHAIN : ROLLBACK_AND_BEGIN);
      exchange.prelude = open === null || chains ? 1 : 2;
    } else {
      if (open !== null) parts.push(ROLLBACK);
      exchange.prelude = open === null ? 0 : 1;
    }
    parts.push(bytes);
    open = kind === 'call' ? exchange : null;
  }
  if (open === null) return parts;
  open.closes = true;
  // The Sync of the call is dropped, so that both are answered together.
  parts.push(withoutSync(parts.pop()), ROLLBACK_AND_SYNC);
  return parts;
}

const withoutSync = (bytes: Buffer = SYNC): Buffer => bytes.subarray(0, -SYNC.length);

/** A failed call leaves its transaction failed, even where it should have ended. */
export function isExpected(status: number, { kind, closes, error }: Exchange): boolean {
  if (kind === 'within') return true;
  const is_outside = kind === 'alone' || kind === 'own' || (closes && error === null);
  return is_outside ? status === IDLE : IN_TRANSACTION.has(status);
}

import type { Exchange, Part } from './exchange.ts';
import { executeKept, parseMessage, SYNC } from './messages.ts';

/** What ReadyForQuery says: no transaction, one, or one that failed. */
export const IDLE = 0x49;
const IN_TRANSACTION: ReadonlySet<number> = new Set([0x54, 0x45]);
/**
 * Prepared once a session, which saves PostgreSQL half of what a transaction costs. Code of the database could replace them,
 * though not by another transaction command: their tags and the state after them show it, and the session is over.
 */
const KEEP = [parseMessage('begin', 'begin read only', []), parseMessage('rollback', 'rollback', [])];
const KEEP_CHAIN = parseMessage('chain', 'rollback and chain', []);
const BEGIN = executeKept('begin');
const ROLLBACK = executeKept('rollback');
/** Ends one transaction and begins another of the same kind. PostgreSQL 12 and later take a single command for it. */
const CHAIN = executeKept('chain');
const ROLLBACK_AND_BEGIN = Buffer.concat([ROLLBACK, BEGIN]);
export const ROLLBACK_AND_SYNC = Buffer.concat([ROLLBACK, SYNC]);
export const TRANSACTION_TAGS: ReadonlySet<string> = new Set(['BEGIN', 'ROLLBACK']);

/** @param chains the server knows `rollback and chain`. */
export const keepCommands = (chains: boolean): Buffer => Buffer.concat([...KEEP, ...(chains ? [KEEP_CHAIN] : []), SYNC]);

/**
 * Each call has a transaction of its own: it begins by ending the one before it, and the last of a flight ends its own as well. A
 * Sync makes the server answer at once, which costs more than the transaction: calls that seldom fail do without.
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
  // Without the Sync of the call itself: both are answered at once.
  parts.push(withoutSync(parts.pop()), ROLLBACK_AND_SYNC);
  return parts;
}

const withoutSync = (bytes: Buffer = SYNC): Buffer => bytes.subarray(0, -SYNC.length);

/** A call that failed leaves its transaction as it is, even where it should have ended with it. */
export function isExpected(status: number, { kind, closes, error }: Exchange): boolean {
  if (kind === 'within') return true;
  const is_outside = kind === 'alone' || kind === 'own' || (closes && error === null);
  return is_outside ? status === IDLE : IN_TRANSACTION.has(status);
}

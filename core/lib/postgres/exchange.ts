import type { Incoming, RowReader } from './reader.ts';

/** One pending statement, until the server is ready for the next one. */
export interface Exchange {
  /** Receives its rows. Null: the rows are discarded. */
  rows: RowReader | null;
  /** Maximum bytes of all rows. */
  readonly enough: number;
  /** Maximum bytes of a single row. */
  readonly largest: number;
  /** Rows after the limit need not be read. */
  readonly spills: boolean;
  readonly kind: ExchangeKind;
  /** `performance.now()` when it became the first one. */
  since: number;
  /** Number of internal commands that are answered before it. */
  prelude: number;
  /** Session values are sent before it in the same group, and answered before it, without rows. */
  settings: boolean;
  /** It is the last of its flight: the answer to the rollback belongs to it. */
  closes: boolean;
  /** It rarely fails, so no Sync has to separate it from the next one. */
  steady: boolean;
  /** No Sync follows: it ends with its command. If it fails, the server skips those after it up to the next Sync. */
  joined: boolean;
  /** The first error of the server. */
  error: unknown;
  on(message: Incoming): void;
  /** @param error null when it succeeded. */
  end(error: unknown): void;
  /** Called when it is not the first and should run elsewhere. @returns true when it does, so that it need not be sent. */
  displace(): boolean;
  /** Called when it has been the first for longer than others should wait. */
  linger(): void;
}

/**
 * `call`: a statement in a separate read-only transaction, which the line adds. `held`: the same, with more messages to follow.
 * `alone`: outside of any transaction. `within`: the sender manages the transaction. The last kind is added by the line, to
 * prepare its commands or to end a remaining transaction.
 */
export type ExchangeKind = 'call' | 'held' | 'alone' | 'within' | 'own';

/** Messages that wait to be sent. */
export interface Part {
  readonly bytes: Buffer;
  readonly exchange: Exchange;
}

/** Maximum bytes of rows for internal statements. */
export const INTERNAL_BYTES = 64 * 1024;

export interface Sent {
  readonly on?: Exchange['on'];
  readonly rows?: RowReader | null;
  readonly enough?: number;
  /** Default: the value of `enough`. */
  readonly largest?: number;
  readonly spills?: boolean;
  readonly settings?: boolean;
}

/** The response was cut off, because it was larger than allowed for a call. */
export const FLOODED = new Error('The answer is larger than a call can have.');

export const closed = (): Error => Object.assign(new Error('The connection is closed.'), { code: 'CONNECTION_CLOSED' });

/** An exchange that does not share the session, or that the line adds. */
export const exchangeOf = (
  kind: ExchangeKind,
  end: Exchange['end'],
  { on = () => {}, rows = null, enough = INTERNAL_BYTES, largest = enough, spills = true, settings = false }: Sent = {},
): Exchange => ({
  rows,
  enough,
  largest,
  spills,
  kind,
  since: 0,
  prelude: 0,
  settings,
  closes: false,
  steady: false,
  joined: false,
  error: null,
  on,
  end,
  displace: () => false,
  linger() {},
});

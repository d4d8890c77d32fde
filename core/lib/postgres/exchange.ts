import type { Incoming, RowReader } from './reader.ts';

/** One statement on its way, until the server is ready for the next one. */
export interface Exchange {
  /** Where its rows go; null: nobody wants them any more. */
  rows: RowReader | null;
  /** Bytes of rows that may come. */
  readonly enough: number;
  /** Bytes that a single row may have. */
  readonly largest: number;
  /** Rows behind the limit need not be read to their end. */
  readonly spills: boolean;
  readonly kind: ExchangeKind;
  /** When it became the first one, of `performance.now()`. */
  since: number;
  /** Commands of ours that are answered before it. */
  prelude: number;
  /** Session values travel before it, in its own group: they are answered before it, without rows. */
  settings: boolean;
  /** It is the last of its flight: the rollback is answered with it. */
  closes: boolean;
  /** It seldom fails, so that no Sync has to part it from the one behind it. */
  steady: boolean;
  /** No Sync follows: it ends with its command, and if it fails, the server skips those behind it up to the next Sync. */
  joined: boolean;
  /** The server's first complaint. */
  error: unknown;
  on(message: Incoming): void;
  /** @param error null when all went well. */
  end(error: unknown): void;
  /** It is not the first one, and should run elsewhere. @returns whether it does: what was not sent yet need not be. */
  displace(): boolean;
  /** It has been the first one for longer than others should wait behind it. */
  linger(): void;
}

/**
 * `call`: a statement in a read-only transaction of its own, which the line brings; `held`: the same, and more messages of it
 * follow; `alone`: outside of any transaction; `within`: whoever sends it keeps the transaction; `own`: what the line adds, to
 * prepare its commands and to end a transaction that is left.
 */
export type ExchangeKind = 'call' | 'held' | 'alone' | 'within' | 'own';

/** What waits to be sent. */
export interface Part {
  readonly bytes: Buffer;
  readonly exchange: Exchange;
}

/** Rows of our own short questions. */
export const OWN_BYTES = 64 * 1024;

export interface Sent {
  readonly on?: Exchange['on'];
  readonly rows?: RowReader | null;
  readonly enough?: number;
  /** As `enough`, when it is not said. */
  readonly largest?: number;
  readonly spills?: boolean;
  readonly settings?: boolean;
}

/** Why an answer ended that was larger than a call may have. */
export const FLOODED = new Error('The answer is larger than a call can have.');

export const closed = (): Error => Object.assign(new Error('The connection is closed.'), { code: 'CONNECTION_CLOSED' });

/** One that has the session for itself, or that the line adds. */
export const exchangeOf = (
  kind: ExchangeKind,
  end: Exchange['end'],
  { on = () => {}, rows = null, enough = OWN_BYTES, largest = enough, spills = true, settings = false }: Sent = {},
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

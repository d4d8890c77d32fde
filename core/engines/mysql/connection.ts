import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { Connection } from 'mysql2';
import { AppError } from '#core/errors.ts';
import { within } from '#core/engines/shared/deadline.ts';
import type { MysqlLink } from './dial.ts';
import { toStatementError } from './errors.ts';
import type { MysqlField } from './values.ts';
import { INTERNAL_BYTES, type PacketMeter } from './wire.ts';

/** Milliseconds for a clean disconnect. */
const CLOSE_MS = 1_000;

interface PreparedStatement {
  readonly columns: readonly MysqlField[];
}

interface StatementOptions {
  readonly sql: string;
  readonly values?: readonly unknown[];
  readonly rowsAsArray: true;
  readonly typeCast?: unknown;
}

/** Members of the driver's connection as they are used here; its types lack them. */
interface Driver {
  /** The socket, or the TLS stream over it. */
  readonly stream: Socket;
  prepare(options: StatementOptions, done: (error: Error | null, statement: PreparedStatement) => void): void;
  unprepare(options: StatementOptions): void;
  execute(options: StatementOptions): EventEmitter;
}

/** A logged-in connection of which every exchange has a byte limit. The driver would not report that the server sends more. */
export class GuardedConnection {
  /** False once it is closed or its state is unknown. */
  usable = true;
  /** Called when the connection is lost; the driver only reports that to a statement that has a callback. */
  onLost: ((error: unknown) => void) | undefined;
  readonly #connection: Driver & Connection;
  readonly #meter: PacketMeter;
  /** Called when the server sends more than was requested. */
  readonly #flood_listeners = new Set<(error: AppError) => void>();
  #flooded: AppError | undefined;

  constructor({ connection, meter }: MysqlLink) {
    this.#connection = connection as Driver & Connection;
    this.#meter = meter;
    this.allowInternal();
  }

  get thread_id(): number {
    return this.#connection.threadId;
  }

  /** From now on `usable` follows what the driver reports. */
  followEnd(): void {
    this.#connection.on('error', (error) => {
      this.usable = false;
      this.onLost?.(error);
    });
    this.#connection.on('end', () => (this.usable = false));
  }

  /** Sets the byte limit for every exchange except the rows of a statement. */
  allowInternal(): void {
    const detail = 'The server sent an answer that is too large; check the host and the port.';
    const exceeded = () => this.fail(new AppError('database_unreachable', detail, { reason: 'failed' }));
    this.#meter.allow(INTERNAL_BYTES, INTERNAL_BYTES, exceeded);
  }

  /** Sets the byte limits of the rows of a statement: of all, and of one. */
  allowRows(total: number, one: number, exceeded: () => void): void {
    this.#meter.allow(total, one, exceeded);
  }

  /** Rejects when the server sends too much before the work is done. */
  guard<Result>(work: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#flooded !== undefined) reject(this.#flooded);
      this.#flood_listeners.add(reject);
      work.then(resolve, reject).finally(() => this.#flood_listeners.delete(reject));
    });
  }

  /** Runs internal work of the driver. */
  ask<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> {
    this.allowInternal();
    return work(this.#connection);
  }

  async command(text: string): Promise<void> {
    await this.guard(this.ask((connection) => askMysql(connection, text)));
  }

  prepare(text: string): Promise<PreparedStatement> {
    this.allowInternal();
    return new Promise((resolve, reject) => {
      this.#connection.prepare({ sql: text, rowsAsArray: true }, (error, statement) => {
        if (error) reject(toStatementError(error, text));
        else resolve(statement);
      });
    });
  }

  unprepare(text: string): void {
    this.#connection.unprepare({ sql: text, rowsAsArray: true });
  }

  execute(options: StatementOptions): EventEmitter {
    return this.#connection.execute(options);
  }

  /** Reads nothing more from the server until `resume`. */
  pause(): void {
    this.#connection.pause();
  }

  resume(): void {
    this.#connection.resume();
  }

  reset(): Promise<void> {
    this.allowInternal();
    return new Promise((resolve, reject) => this.#connection.reset((error) => (error ? reject(error) : resolve())));
  }

  /** Closes the connection at once, and fails what waits for its answers. */
  fail(error: AppError): void {
    this.#flooded = error;
    for (const reject of this.#flood_listeners) reject(error);
    this.cut();
  }

  cut(): void {
    this.usable = false;
    this.#connection.destroy();
    // The driver only sends a quit message, and would still read what the server sends.
    this.#connection.stream.destroy();
  }

  async close(): Promise<void> {
    const ended = () => new Promise<void>((resolve) => this.#connection.end(() => resolve()));
    if (this.usable) await within(CLOSE_MS, ended()).catch(() => undefined);
    this.cut();
  }
}

/** Runs an internal statement with the text protocol and returns its rows. */
export function askMysql(connection: Connection, text: string): Promise<Record<string, unknown>[]> {
  return new Promise((resolve, reject) => {
    connection.query(text, (error, rows) => {
      if (error) reject(toStatementError(error, text));
      else resolve(rows as Record<string, unknown>[]);
    });
  });
}

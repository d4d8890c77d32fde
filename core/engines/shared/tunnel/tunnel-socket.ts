import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** A channel of an SSH connection with the members of a socket that drivers use. */
export class TunnelSocket extends Duplex {
  bytesRead = 0;
  readonly #channel: Duplex;

  constructor(channel: Duplex) {
    super({ allowHalfOpen: false });
    this.#channel = channel;
    channel.on('data', (chunk: Buffer) => {
      this.bytesRead += chunk.length;
      if (!this.push(chunk)) channel.pause();
    });
    let ended = false;
    const end = () => {
      if (!ended) this.push(null);
      ended = true;
    };
    channel.on('end', end);
    // A server may send its reason and close at once: the reason is read first.
    channel.on('close', () => {
      if (this.readableEnded || this.destroyed) this.destroy();
      else {
        this.once('end', () => this.destroy());
        end();
      }
    });
    // `close` follows.
    channel.on('error', () => undefined);
    channel.pause();
  }

  /** SSH connections set both for all of their channels. */
  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  override _read(): void {
    this.#channel.resume();
  }

  override _write(chunk: Buffer, _: string, done: (error?: Error | null) => void): void {
    // After the end of the SSH connection no callback would come.
    if (this.#channel.destroyed || !this.#channel.writable) return done(new Error('The SSH connection has ended.'));
    this.#channel.write(chunk, done);
  }

  override _final(done: () => void): void {
    this.#channel.end();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#channel.destroy();
    done(error);
  }
}

/** Drivers are typed with sockets; they use the members above. */
export const asSocket = (stream: TunnelSocket): Socket => stream as unknown as Socket;

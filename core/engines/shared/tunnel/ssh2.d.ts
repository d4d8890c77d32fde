// The parts of ssh2 that are used here. Its published types bring an older copy of those of Node.
declare module 'ssh2' {
  import type { EventEmitter } from 'node:events';
  import type { Duplex } from 'node:stream';

  export interface ConnectConfig {
    readonly sock: Duplex;
    readonly username: string;
    readonly privateKey?: string;
    readonly passphrase?: string;
    readonly password?: string;
    readonly tryKeyboard?: boolean;
    readonly authHandler?: readonly string[];
    readonly readyTimeout: number;
    readonly keepaliveInterval: number;
    readonly keepaliveCountMax: number;
    readonly hostVerifier: (key: Buffer) => boolean;
  }
  export interface Prompt {
    readonly prompt: string;
    readonly echo?: boolean;
  }
  export class Client extends EventEmitter {
    connect(config: ConnectConfig): this;
    forwardOut(
      from_host: string,
      from_port: number,
      host: string,
      port: number,
      done: (error: (Error & { readonly reason?: number }) | undefined, channel: Duplex) => void,
    ): this;
    end(): this;
    destroy(): this;
  }
  const ssh2: {
    readonly Client: typeof Client;
    readonly utils: { readonly parseKey: (key: string, passphrase?: string) => unknown };
  };
  export default ssh2;
}

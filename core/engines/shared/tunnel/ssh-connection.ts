import { createHash } from 'node:crypto';
import type { Duplex } from 'node:stream';
import ssh2, { type Client, type Prompt } from 'ssh2';
import type { HopOf } from '#core/contract/definitions/connection-fields.ts';
import { AppError } from '#core/errors.ts';
import { HostKeyFault, type HopName, named, tunnelFault } from './faults.ts';
import { TunnelSocket } from './tunnel-socket.ts';

export interface SshTiming {
  /** Milliseconds for the handshake and the sign-in, and for opening a channel. */
  readonly connect_ms: number;
  /** Milliseconds between two checks that the server still answers. After three without an answer the connection has ended. */
  readonly keepalive_ms: number;
}

/** A signed-in connection to one SSH server. */
export interface SshConnection {
  /** Opens a channel to an address that the server dials. Rejects with `tunnel_refused`, or with what `unreachable` returns. */
  forward(host: string, port: number, unreachable: (reason: ForwardReason, cause: unknown) => AppError): Promise<TunnelSocket>;
  /** Called once when the connection has ended. */
  onEnd(listener: () => void): void;
  end(): void;
}

export type ForwardReason = 'refused' | 'dns_failed' | 'timeout' | 'ended';

/** Reason codes of RFC 4254 section 5.1. */
const PROHIBITED = 1;
const MISSED = 3;

export const fingerprintOf = (key: Buffer): string =>
  `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`;

/**
 * Signs in. The key of the server is compared before anything secret is sent. @param stream to the server; ended when this fails.
 */
export function openSsh(
  hop: HopOf<string>,
  name: HopName,
  stream: Duplex & { readonly bytesRead: number },
  timing: SshTiming,
): Promise<SshConnection> {
  const client = new ssh2.Client();
  const { promise, resolve, reject } = Promise.withResolvers<SshConnection>();
  let fault: AppError | null = null;
  const fail = (error: unknown): void => {
    stream.destroy();
    reject(fault ?? toFault(error, hop, name));
  };
  client.on('error', fail);
  client.once('close', () => fail(new Error('The server closed the connection.')));
  client.once('ready', () => resolve(toConnection(client, name, stream, timing)));
  client.on('keyboard-interactive', (_name: string, _text: string, _lang: string, prompts: readonly Prompt[], answer: Answer) =>
    answer(prompts.map(({ echo }) => (echo === true ? hop.username : (hop.password ?? '')))),
  );
  try {
    client.connect({
      sock: stream,
      username: hop.username,
      ...(hop.private_key !== null && { privateKey: hop.private_key }),
      ...(hop.passphrase !== null && { passphrase: hop.passphrase }),
      ...(hop.password !== null && { password: hop.password }),
      authHandler: [
        ...(hop.private_key === null ? [] : ['publickey']),
        ...(hop.password === null ? [] : ['password', 'keyboard-interactive']),
      ],
      tryKeyboard: hop.password !== null,
      readyTimeout: timing.connect_ms,
      keepaliveInterval: timing.keepalive_ms,
      keepaliveCountMax: MISSED,
      hostVerifier(key) {
        const fingerprint = fingerprintOf(key);
        if (fingerprint === hop.host_key) return true;
        fault = new HostKeyFault(name, fingerprint, hop.host_key);
        return false;
      },
    });
  } catch (error) {
    fail(error);
  }
  return promise;
}

type Answer = (answers: readonly string[]) => void;

function toConnection(
  client: Client,
  name: HopName,
  stream: Duplex & { readonly bytesRead: number },
  { connect_ms }: SshTiming,
): SshConnection {
  const listeners: (() => void)[] = [];
  let ended = false;
  client.once('close', () => {
    ended = true;
    for (const listener of listeners.splice(0)) listener();
  });
  return {
    onEnd: (listener) => void (ended ? listener() : listeners.push(listener)),
    end: () => void client.destroy(),
    forward(host, port, unreachable) {
      const { promise, resolve, reject } = Promise.withResolvers<TunnelSocket>();
      const read_before = stream.bytesRead;
      let settled = false;
      const settle = (how: () => void) => {
        settled = true;
        clearTimeout(timer);
        how();
      };
      const timer = setTimeout(() => {
        // A server that answered a keepalive since then is waiting for the address; otherwise nothing arrives from it any more.
        const is_silent = stream.bytesRead === read_before;
        settle(() => reject(unreachable(is_silent ? 'ended' : 'timeout', undefined)));
        if (is_silent) client.destroy();
      }, connect_ms);
      listeners.push(() => settle(() => reject(unreachable('ended', undefined))));
      if (ended) settle(() => reject(unreachable('ended', undefined)));
      else
        client.forwardOut('127.0.0.1', 0, host, port, (error, channel) => {
          if (settled) return void (error === undefined && channel.destroy());
          if (error === undefined) return settle(() => resolve(new TunnelSocket(channel)));
          settle(() => reject(error.reason === PROHIBITED ? prohibited(name, host, port) : unreachable(reasonOf(error), error)));
        });
      return promise;
    },
  };
}

function prohibited(name: HopName, host: string, port: number): AppError {
  const detail = `The SSH server at ${named(name)} does not forward to ${host}, port ${port}; allow it there (AllowTcpForwarding, PermitOpen).`;
  return tunnelFault('tunnel_refused', `${name.field}.host`, detail);
}

const reasonOf = ({ message, reason }: Error & { readonly reason?: number }): ForwardReason => {
  if (reason === undefined) return 'ended';
  return /not known|resolve|resolution|no address/i.test(message) ? 'dns_failed' : 'refused';
};

/** The SSH library names the step that failed in `level`. */
function toFault(error: unknown, hop: HopOf<string>, name: HopName): AppError {
  const cause = error instanceof Error ? error : new Error(String(error));
  const level = 'level' in cause ? cause.level : '';
  const at = named(name);
  if (/Cannot parse privateKey/.test(cause.message)) {
    const needs_passphrase = /no passphrase/i.test(cause.message);
    const field = `${name.field}.${needs_passphrase || hop.passphrase !== null ? 'passphrase' : 'private_key'}`;
    const detail = needs_passphrase
      ? `The private key for ${at} is encrypted; enter its passphrase.`
      : `The private key for ${at} cannot be read; check the key and its passphrase.`;
    return tunnelFault('tunnel_refused', field, detail, { reason: 'auth_failed', cause });
  }
  if (level === 'client-authentication') {
    const [field, what] = hop.private_key === null ? ['password', 'the password'] : ['private_key', 'the private key'];
    const detail = `The SSH server at ${at} refused the user name or ${what}; check both, and that the key is among the authorized keys of this user.`;
    return tunnelFault(
      'tunnel_refused',
      `${name.field}.${field}`,
      hop.private_key === null ? detail.replace(/, and that .*/, '.') : detail,
      {
        reason: 'auth_failed',
        cause,
      },
    );
  }
  if (level === 'client-timeout') {
    return tunnelFault(
      'tunnel_unreachable',
      `${name.field}.host`,
      `The SSH server at ${at} did not answer in time; check the host and the port.`,
      { cause },
    );
  }
  const detail = `The server at ${at} ended the connection during the SSH handshake, or does not speak SSH; check the host and the port.`;
  return tunnelFault('tunnel_unreachable', `${name.field}.host`, detail, { cause });
}

import type { Socket } from 'node:net';
import { AppError } from '#core/errors.ts';
import { classifyAddress } from '../shared/addresses.ts';
import { dialSocket, resolveTarget } from '../shared/dial.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { DialPolicy } from '#core/engines/shared/source.ts';
import { secureSocket } from '../shared/tls.ts';

export interface Link {
  readonly socket: Socket;
  readonly encrypted: boolean;
}

const DEFAULT_PORT = 5432;
const ANSWER_MS = 10_000;
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
const CANCEL_CODE = 80_877_102;

/** A dialled socket, encrypted according to `ssl_mode`. */
export async function openLink(settings: ConnectionSettings, policy: DialPolicy, signal: AbortSignal): Promise<Link> {
  const secure = policy.network?.sockets?.secure ?? secureSocket;
  const { socket, is_private } = await dial(settings, policy, signal);
  // `close` follows every error. Without a listener the error would end the process.
  socket.on('error', () => {});
  if (settings.ssl_mode === 'disable') return { socket, encrypted: false };
  try {
    if (await offersTls(socket, signal)) return { socket: await secure(socket, settings, signal), encrypted: true };
  } catch (error) {
    socket.destroy();
    throw error;
  }
  if (settings.ssl_mode === null && settings.ssl_ca === null && is_private) return { socket, encrypted: false };
  socket.destroy();
  throw new AppError(
    'database_unreachable',
    'The database does not offer TLS; turn TLS on there, or set ssl_mode to disable for a network you trust.',
    { reason: 'tls_failed' },
  );
}

interface Dialled {
  readonly socket: Socket;
  /** Whether the address is private, so that the database may offer no TLS. */
  readonly is_private: boolean;
}

async function dial(settings: ConnectionSettings, policy: DialPolicy, signal: AbortSignal): Promise<Dialled> {
  const port = settings.port ?? DEFAULT_PORT;
  if (policy.tunnel !== undefined) {
    const { socket, private: is_private } = await policy.tunnel.dial(settings.host ?? '', port, signal, settings.database);
    return { socket, is_private };
  }
  const sockets = policy.network?.sockets ?? null;
  if (sockets !== null) return direct(await sockets.dial(settings.host ?? '', port, signal));
  const target = await resolveTarget(settings.host ?? '', port, policy, settings.database);
  signal.throwIfAborted();
  return direct(await dialSocket(target, signal));
}

const direct = (socket: Socket): Dialled => ({
  socket,
  is_private: classifyAddress(socket.remoteAddress ?? '') === 'private',
});

/** The answer must be exactly one byte. Further bytes were injected before the encrypted ones (CVE-2021-23222). */
function offersTls(socket: Socket, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const ends = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
    const settle = (finish: () => void) => {
      socket.removeListener('data', onData);
      socket.removeListener('close', onClose);
      ends.removeEventListener('abort', onAbort);
      finish();
    };
    const refuse = (detail: string, reason: string) =>
      settle(() => reject(new AppError('database_unreachable', detail, { reason })));
    const onData = (bytes: Buffer) => {
      const answer = bytes.toString('latin1');
      if (answer === 'S' || answer === 'N') return settle(() => resolve(answer === 'S'));
      refuse('The server at this host and port does not speak the PostgreSQL protocol; check the host and the port.', 'failed');
    };
    const onClose = () => refuse('The server closed the connection without an answer; check the host and the port.', 'failed');
    const onAbort = () =>
      signal.aborted
        ? settle(() => reject(signal.reason))
        : refuse('The server did not answer in time; check the host and the port.', 'timeout');
    if (ends.aborted) return onAbort();
    socket.once('data', onData);
    socket.once('close', onClose);
    ends.addEventListener('abort', onAbort, { once: true });
    socket.write(SSL_REQUEST);
  });
}

/** Sends the protocol's cancel request on a separate connection, which the server closes once it has sent the signal. */
export async function sendCancel(
  settings: ConnectionSettings,
  policy: DialPolicy,
  backend: { readonly pid: number; readonly secret: number },
  signal: AbortSignal,
): Promise<void> {
  const { socket } = await openLink(settings, policy, signal);
  const request = Buffer.alloc(16);
  request.writeUInt32BE(16, 0);
  request.writeUInt32BE(CANCEL_CODE, 4);
  request.writeUInt32BE(backend.pid >>> 0, 8);
  request.writeUInt32BE(backend.secret >>> 0, 12);
  await new Promise<void>((resolve) => {
    const end = () => {
      socket.destroy();
      resolve();
    };
    socket.on('error', end);
    socket.once('close', end);
    socket.resume();
    if (signal.aborted) return end();
    signal.addEventListener('abort', end, { once: true });
    socket.write(request);
  });
}

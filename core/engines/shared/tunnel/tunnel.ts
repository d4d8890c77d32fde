import type { Socket } from 'node:net';
import { type HopOf, hopsOf, type SshOf } from '#core/contract/definitions/connection-fields.ts';
import { AppError, COMMIT_UNKNOWN } from '#core/errors.ts';
import { untilAborted } from '../deadline.ts';
import { dialSocket, resolveTarget } from '../dial.ts';
import type { DialPolicy, Tunnel } from '../source.ts';
import { farTarget } from './far-address.ts';
import { type HopName, named, tunnelFault } from './faults.ts';
import { type ForwardReason, openSsh, type SshConnection, type SshTiming } from './ssh-connection.ts';
import { asSocket, type TunnelSocket } from './tunnel-socket.ts';

export interface TunnelTiming extends SshTiming {
  /** Milliseconds without a session after which the tunnel is closed. The next dial opens it again. */
  readonly idle_ms: number;
  /** After a failure, further dials get the same error for this many milliseconds, doubled with each failure up to 30 s. */
  readonly retry_ms: number;
}

export const TUNNEL_TIMING: TunnelTiming = { connect_ms: 10_000, keepalive_ms: 5_000, idle_ms: 60_000, retry_ms: 1_000 };
const LONGEST_RETRY_MS = 30_000;
/** `reason` that engines give an error after which the session is lost. */
const LOST = 'connection_lost';

/** A tunnel that the sessions of one source share. It is opened by the first dial, and again after it has ended. */
export interface SharedTunnel extends Tunnel {
  /** The error of a call that began at `since` (`performance.now()`), which names the tunnel if that ended since then. */
  explain(error: unknown, since: number): Promise<unknown>;
  close(): void;
}

/** The SSH connections of one tunnel, from the first server to the last. */
interface Chain {
  readonly last: SshConnection;
  /** The address of the last server as this machine knows it. */
  readonly address: string | null;
  readonly hops: readonly SshConnection[];
}

export function createTunnel(ssh: SshOf<string>, policy: DialPolicy, timing: TunnelTiming = TUNNEL_TIMING): SharedTunnel {
  let chain: Promise<Chain> | null = null;
  let failed: { readonly error: unknown; readonly until: number; readonly wait_ms: number } | null = null;
  let lost_at = -1;
  let closed = false;
  const sockets = new Set<TunnelSocket>();
  let idle: ReturnType<typeof setTimeout> | undefined;

  function open(): Promise<Chain> {
    if (closed) return Promise.reject(new AppError('unavailable', 'This connection is being closed; try again.'));
    if (chain !== null) return chain;
    if (failed !== null && performance.now() < failed.until) return Promise.reject(failed.error);
    const opening = openChain(ssh, policy, timing);
    chain = opening;
    opening.then(
      (opened) => {
        failed = null;
        if (closed) return endChain(opened);
        for (const hop of opened.hops) hop.onEnd(() => hasEnded(opening, opened));
        closeWhenIdle();
      },
      (error: unknown) => {
        chain = null;
        const wait_ms = failed === null ? timing.retry_ms : Math.min(LONGEST_RETRY_MS, failed.wait_ms * 2);
        failed = { error, wait_ms, until: performance.now() + wait_ms };
      },
    );
    return opening;
  }

  function hasEnded(opening: Promise<Chain>, ended: Chain): void {
    if (chain !== opening) return;
    chain = null;
    clearTimeout(idle);
    lost_at = performance.now();
    endChain(ended);
    for (const socket of sockets) socket.destroy();
  }

  function closeWhenIdle(): void {
    clearTimeout(idle);
    if (sockets.size > 0) return;
    idle = setTimeout(() => {
      const ending = chain;
      chain = null;
      void ending?.then(endChain, () => undefined);
    }, timing.idle_ms);
    idle.unref();
  }

  return {
    async dial(host, port, signal, database) {
      const { last, address } = await untilAborted(signal, open());
      const target = await untilAborted(signal, farTarget(host, port, address, policy, database));
      const forwarding = last.forward(target.host, port, (reason, cause) =>
        databaseFault(reason, host, port, hopsOf(ssh).at(-1)!, cause),
      );
      const socket = await untilAborted(signal, forwarding).catch((error: unknown) => {
        forwarding.then((late) => late.destroy()).catch(() => undefined);
        throw error;
      });
      sockets.add(socket);
      clearTimeout(idle);
      socket.once('close', () => {
        sockets.delete(socket);
        closeWhenIdle();
      });
      return { socket: asSocket(socket), private: target.private };
    },
    async explain(error, since) {
      if (!(error instanceof AppError) || error.code !== 'database_unreachable' || error.reason === COMMIT_UNKNOWN) return error;
      // The end of a session may be noticed a moment before that of the tunnel.
      await new Promise((resolve) => setImmediate(resolve));
      if (lost_at < since) return error;
      const detail = 'The SSH tunnel to the database ended during the call; try again.';
      return tunnelFault('tunnel_unreachable', 'ssh.host', detail, { reason: LOST, cause: error });
    },
    close() {
      closed = true;
      clearTimeout(idle);
      const ending = chain;
      chain = null;
      void ending?.then(endChain, () => undefined);
    },
  };
}

const endChain = ({ hops }: Pick<Chain, 'hops'>): void => {
  for (const hop of hops.toReversed()) hop.end();
};

async function openChain(ssh: SshOf<string>, policy: DialPolicy, timing: SshTiming): Promise<Chain> {
  const hops: SshConnection[] = [];
  let address: string | null = null;
  try {
    for (const { hop, field } of hopsOf<HopOf<string>>(ssh)) {
      const name = { host: hop.host, port: hop.port, field };
      if (hop.private_key === null && hop.password === null) {
        throw tunnelFault(
          'tunnel_refused',
          `${field}.private_key`,
          `Neither a private key nor a password is stored for the SSH server at ${named(name)}; enter one.`,
        );
      }
      const before = hops.at(-1);
      const dialled: Dialled = await (
        before === undefined ? dialFirst(name, policy, timing) : dialNext(name, before, address, policy)
      ).catch((error: unknown) => {
        throw atHost(error, name);
      });
      address = dialled.address;
      hops.push(await openSsh(hop, name, dialled.stream, timing));
    }
  } catch (error) {
    endChain({ hops });
    throw error;
  }
  return { hops, last: hops.at(-1)!, address };
}

interface Dialled {
  readonly stream: Socket | TunnelSocket;
  readonly address: string | null;
}

async function dialFirst({ host, port }: HopName, policy: DialPolicy, { connect_ms }: SshTiming): Promise<Dialled> {
  const target = await resolveTarget(host, port, policy);
  return { stream: await dialSocket(target, undefined, connect_ms), address: target.address };
}

async function dialNext(name: HopName, before: SshConnection, server: string | null, policy: DialPolicy): Promise<Dialled> {
  const { host, address } = await farTarget(name.host, name.port, server, policy);
  const unreachable = (reason: ForwardReason, cause: unknown) =>
    tunnelFault(
      'tunnel_unreachable',
      `${name.field}.host`,
      `The SSH server in front of it cannot reach ${named(name)} (${WHY[reason]}); check the host and the port.`,
      { cause },
    );
  return { stream: await before.forward(host, name.port, unreachable), address };
}

const WHY: Readonly<Record<ForwardReason, string>> = {
  refused: 'nothing accepts connections there',
  dns_failed: 'the name does not resolve there',
  timeout: 'no answer in time',
  ended: 'the SSH connection ended',
};

/** An error of dialling an SSH server, at the field of its host. */
function atHost(error: unknown, { field }: HopName): unknown {
  if (!(error instanceof AppError) || error.code.startsWith('tunnel_')) return error;
  if (error.code === 'private_network_blocked') {
    return new AppError(error.code, error.detail, {
      reason: error.code,
      errors: [{ field: `${field}.host`, message: error.detail }],
    });
  }
  return tunnelFault('tunnel_unreachable', `${field}.host`, error.detail, { cause: error });
}

/** Why the last SSH server does not reach the database. */
function databaseFault(
  reason: ForwardReason,
  host: string,
  port: number,
  { field, hop }: { readonly field: string; readonly hop: Pick<HopOf<unknown>, 'host' | 'port'> },
  cause: unknown,
): AppError {
  if (reason === 'ended') {
    const detail = `The SSH server at ${named(hop)} no longer answers; try again.`;
    return tunnelFault('tunnel_unreachable', `${field}.host`, detail, { cause });
  }
  const detail = `The SSH server at ${named(hop)} cannot reach the database at ${host}, port ${port} (${WHY[reason]}); check the host and the port as that server reaches them.`;
  return new AppError('database_unreachable', detail, { reason, cause, errors: [{ field: 'host', message: detail }] });
}

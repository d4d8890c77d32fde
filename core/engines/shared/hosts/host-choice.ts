import { AppError } from '#core/errors.ts';
import type { HostState } from '#core/contract/definitions/connections.ts';
import type { ConnectionSettings } from '../connection-settings.ts';
import { type HostAddress, hostsOf, hostText } from './host-list.ts';
import type { PooledSession } from '../session-pool.ts';
import type { SessionMode } from '../source.ts';
import type { StopSignal } from '../stop.ts';

/** A primary accepts writes; a standby only reads what it receives from a primary. */
export type ServerRole = NonNullable<HostState['role']>;

export interface ChosenSession extends PooledSession {
  /** After this the pool does not reuse the session. */
  retire(): void;
}

export interface HostChoiceParts<Session extends ChosenSession, Signal extends StopSignal> {
  readonly open: (host: HostAddress, mode: SessionMode, signal: Signal | AbortSignal) => Promise<Session>;
  readonly role: (session: Session) => Promise<ServerRole>;
  readonly lag: (session: Session) => Promise<number | null>;
}

export type HostStates = () => Promise<readonly HostState[]>;

export interface HostChoice<Session, Signal> {
  readonly open: (mode: SessionMode, signal: Signal) => Promise<Session>;
  /** Asks every host. Absent: the connection has one host. */
  readonly states?: HostStates;
}

/** Milliseconds for a host while others are left to try. */
const TRY_MS = 3_000;
/** Milliseconds for which a host that did not answer is tried last. */
const DOWN_MS = 5_000;
/** Milliseconds after which a session is replaced, because its server may have another role by then. */
const FITS_MS = 60_000;
/** The same, for a session on a primary while no standby answers. */
const FALLBACK_MS = 15_000;
const STATE_MS = 3_000;

interface Known {
  readonly address: HostAddress;
  /** As it was at the last session. */
  role: ServerRole | null;
  down_until: number;
}

type Settings = Pick<ConnectionSettings, 'host' | 'port' | 'target'>;

/** Opens sessions on the host that fits their mode. A session that writes is only opened on a primary. */
export function createHostChoice<Session extends ChosenSession, Signal extends StopSignal>(
  settings: Settings,
  parts: HostChoiceParts<Session, Signal>,
): HostChoice<Session, Signal> {
  const { target = 'any' } = settings;
  const hosts = hostsOf(settings).map((address): Known => ({ address, role: null, down_until: 0 }));
  const [only, ...more] = hosts;
  if (only !== undefined && more.length === 0 && target === 'any')
    return { open: (mode, signal) => parts.open(only.address, mode, signal) };

  const roleFor = (mode: SessionMode): ServerRole | null =>
    mode === 'write' || target === 'primary' ? 'primary' : target === 'prefer_standby' ? 'standby' : null;

  async function tryHost(known: Known, mode: SessionMode, signal: Signal, limited: boolean): Promise<Session> {
    const asks = roleFor(mode) !== null;
    const limit = limited ? AbortSignal.timeout(TRY_MS) : null;
    const within = limit === null ? signal : eitherOf(signal, limit);
    try {
      const session = await parts.open(known.address, mode, within);
      try {
        if (asks) known.role = await parts.role(session);
        known.down_until = 0;
        return session;
      } catch (error) {
        session.retire();
        void session.close().catch(() => undefined);
        throw error;
      }
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      known.down_until = performance.now() + DOWN_MS;
      if (limit?.aborted === true) throw silent(known.address, error);
      throw error;
    }
  }

  async function open(mode: SessionMode, signal: Signal): Promise<Session> {
    const needed = roleFor(mode);
    const order = inOrder(hosts, needed);
    const failures: { readonly known: Known; readonly error: AppError }[] = [];
    let other: Session | null = null;
    try {
      for (const [n, known] of order.entries()) {
        const is_last = n === order.length - 1 && other === null;
        let session: Session;
        try {
          session = await tryHost(known, mode, signal, !is_last);
        } catch (error) {
          if (signal.aborted || !isUnreachable(error)) throw error;
          failures.push({ known, error });
          continue;
        }
        if (needed === null) return session;
        if (known.role === needed) return retireAfter(FITS_MS, session);
        if (needed === 'standby' && other === null) other = session;
        else void session.close().catch(() => undefined);
      }
      if (other === null) throw noHost(order, failures, needed);
      const fallback = other;
      other = null;
      return retireAfter(FALLBACK_MS, fallback);
    } finally {
      if (other !== null) void other.close().catch(() => undefined);
    }
  }

  async function stateOf(known: Known): Promise<HostState> {
    const host = hostText(known.address);
    const signal = AbortSignal.timeout(STATE_MS);
    try {
      const session = await parts.open(known.address, 'read', signal);
      try {
        const role = await parts.role(session);
        const lag_ms = role === 'standby' ? await parts.lag(session) : null;
        return { host, role, lag_ms, error: null };
      } finally {
        void session.close().catch(() => undefined);
      }
    } catch (error) {
      const failure = signal.aborted ? silent(known.address, error) : error;
      if (!(failure instanceof AppError)) throw failure;
      return { host, role: null, lag_ms: null, error: failure.detail };
    }
  }

  return { open, states: () => Promise.all(hosts.map(stateOf)) };
}

function retireAfter<Session extends ChosenSession>(ms: number, session: Session): Session {
  setTimeout(() => session.retire(), ms).unref();
  return session;
}

/** Hosts that answered and had the needed role come first, those that did not answer last. */
function inOrder(hosts: readonly Known[], needed: ServerRole | null): readonly Known[] {
  const now = performance.now();
  const rank = ({ role, down_until }: Known): number =>
    (down_until > now ? 10 : 0) + (needed === null || role === needed ? 0 : role === null ? 1 : 2);
  return hosts.toSorted((a, b) => rank(a) - rank(b));
}

/** Reasons that concern one host. A refused account or a forbidden address is a fault of the connection. */
const OF_HOST: ReadonlySet<string> = new Set(['dns_failed', 'refused', 'timeout', 'tls_failed', 'failed', 'connection_lost']);

const isUnreachable = (error: unknown): error is AppError =>
  error instanceof AppError && error.code === 'database_unreachable' && OF_HOST.has(error.reason ?? '');

const silent = (address: HostAddress, cause: unknown): AppError =>
  new AppError(
    'database_unreachable',
    `${hostText(address)} did not answer in time; check the host, the port and the firewall.`,
    { reason: 'timeout', cause },
  );

/** `reason` when hosts answer and none of them accepts writes. */
export const NO_PRIMARY = 'no_primary';

function noHost(
  order: readonly Known[],
  failures: readonly { readonly known: Known; readonly error: AppError }[],
  needed: ServerRole | null,
): AppError {
  const [first] = failures;
  if (first !== undefined && (failures.length === order.length || needed === null)) return first.error;
  const standbys = order.filter((known) => !failures.some((failure) => failure.known === known));
  const parts = [
    `${standbys.map(({ address }) => hostText(address)).join(', ')} ${standbys.length === 1 ? 'is a standby' : 'are standbys'}`,
    ...failures.map(({ known, error }) => `${hostText(known.address)} does not answer (${error.reason ?? 'failed'})`),
  ];
  const detail = `No host of this connection is a primary, which accepts writes: ${parts.join('; ')}. Promote a standby, or add the primary to the hosts.`;
  return new AppError('database_unreachable', detail, { reason: NO_PRIMARY });
}

function eitherOf(signal: StopSignal, limit: AbortSignal): AbortSignal {
  const both = new AbortController();
  const abort = (): void => both.abort(signal.aborted ? signal.reason : limit.reason);
  if (signal.aborted || limit.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  limit.addEventListener('abort', abort, { once: true });
  return both.signal;
}

import type { IdentityList, LiveToken, NamedList } from '#core/contract/deploy/control.ts';
import { asksNothing, isLoopback } from '#core/contract/settings/config.ts';
import { AppError } from '#core/errors.ts';
import { secretsIn } from '#core/lib/sealed-values.ts';
import type { Auth } from './auth/authenticate.ts';
import type { Decisions } from './call/confirmation/decisions.ts';
import type { Control, ControlEvent, ControlHandlers, ListenEvent } from './control/control.ts';
import type { SideSnapshots } from './control/side-snapshots.ts';
import type { SnapshotFile } from './control/snapshot-file.ts';
import { createSnapshotTaker, type SnapshotTaker } from './control/take-snapshot.ts';
import { type ServingState, STOPPED, WAITING } from './dispatch/serving.ts';
import type { HostOptions } from './host-options.ts';
import type { HostState } from './host-state.ts';
import type { Acknowledgement } from './server-link.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import type { LoadRegistry } from './registry/load-registry.ts';
import type { Replays } from './replay/replay.ts';
import { drain } from './requests/running-calls.ts';
import type { Address, Listener } from './transports/listener.ts';

interface Parts extends Pick<HostState, 'disk' | 'running' | 'names' | 'copies' | 'signed'> {
  readonly load: LoadRegistry;
  readonly serving: ServingState;
  readonly control: Pick<Control, 'again'>;
  readonly auth: Pick<Auth, 'useTokens' | 'useIdentity'>;
  readonly beside: Pick<SideSnapshots, 'use'>;
  readonly replays: Replays;
  readonly listener: Listener;
  readonly decisions: Pick<Decisions, 'take'>;
  /** Ends the sessions and streams of callers that are no longer admitted. */
  readonly dismiss: () => void;
  readonly acknowledge: (answer: Acknowledgement) => void;
}

/** How a host follows its server: from the copy on disk, then event by event. */
interface Followers extends ControlHandlers {
  resume(): Promise<void>;
  /** Listens on an address, as soon as it is free: the address of an ended program may be busy for a while. */
  bind(address: Address): Promise<void>;
}

export function createFollowers(options: HostOptions, parts: Parts): Followers {
  const { log, file, grace_ms = 10_000 } = options;
  const { serving, auth, beside, replays, listener, decisions, dismiss, acknowledge, running, names } = parts;
  const saveVersion = createVersionSaver(file, parts);
  const snapshots = takeSnapshots(options, parts, saveVersion);
  /** Acknowledges a list, because the request that changed the list waits for the hosts. */
  const confirm = (list: NamedList['list']) => {
    if (list !== undefined) acknowledge({ request_id: list });
  };
  const useTokens = async ({ tokens, list }: { readonly tokens: readonly LiveToken[] } & NamedList) => {
    const saved = auth.useTokens(tokens);
    dismiss();
    await saved;
    confirm(list);
  };
  const useIdentity = async ({ list, ...identity }: IdentityList & NamedList) => {
    await auth.useIdentity(identity, dismiss);
    confirm(list);
  };
  const prepare = async ({ request_id, ...address }: ListenEvent) => {
    try {
      await listener.prepare(address);
      acknowledge({ request_id });
    } catch (error) {
      acknowledge({ request_id, error: error instanceof AppError ? error.detail : 'The host could not open the address.' });
    }
  };
  const bind = async (address: Address): Promise<void> => {
    try {
      await listener.use(address);
    } catch (error) {
      log.error('listen_failed', { host: address.host, port: address.port, error: String(error) });
      setTimeout(() => {
        if (listener.current() === null) void bind(serving.held()?.server ?? address);
      }, 1_000).unref();
    }
  };
  const stop = async () => {
    const stopped = serving.held() !== null;
    serving.pause(stopped ? STOPPED : WAITING);
    log.info(stopped ? 'stopped' : 'nothing_deployed');
    void drain(running, grace_ms, STOPPED);
    await saveVersion(null, true);
    acknowledge({ nothing: true });
  };

  return {
    onRefused: acknowledge,
    async onEvent({ event, data }: ControlEvent) {
      if (event === 'snapshot') await snapshots.take(data);
      else if (event === 'tokens') await useTokens(data);
      else if (event === 'identity') await useIdentity(data);
      else if (event === 'beside') await beside.use(data);
      else if (event === 'signed') parts.signed.use(data);
      else if (event === 'names') await names.use(data.names);
      else if (event === 'cancel') running.cancel(data.id);
      else if (event === 'decision') decisions.take(data);
      // A replay takes long, so it runs in the background.
      else if (event === 'replay') replays.take(data);
      else if (event === 'listen') await prepare(data);
      else await stop();
    },
    resume: () => resume(options, parts, snapshots),
    bind,
  };
}

/** Takes the snapshots that the server sends, and writes them to disk. */
function takeSnapshots(options: HostOptions, parts: Parts, saveVersion: SaveVersion): SnapshotTaker {
  const { log, file } = options;
  const { load, serving, control, listener, acknowledge, disk, signed } = parts;
  return createSnapshotTaker({
    file,
    log,
    loadRegistry: load,
    held: serving.held,
    isStale: () => disk.stale,
    async take(registry, fresh) {
      requireAuth(registry.server, options);
      await listener.use(registry.server);
      if (fresh) disk.stale = false;
      serving.swap(registry);
    },
    async save(write) {
      // The signatures of a version arrive before it, and are written while it is loaded.
      await Promise.all([saveVersion(write, false), signed.saved()]);
    },
    acknowledge,
    askForAll() {
      disk.stale = true;
      control.again();
    },
  });
}

/**
 * Saves what the host serves, before the acknowledgement, so that it survives a restart. With a full disk the host serves it
 * nevertheless. @param write writes a new snapshot; null: there is none.
 */
type SaveVersion = (write: (() => Promise<void>) | null, stopped: boolean) => Promise<void>;

function createVersionSaver(file: SnapshotFile, { copies, disk }: Pick<Parts, 'copies' | 'disk'>): SaveVersion {
  /** Writes the newest snapshot that is not saved yet. */
  let unsaved: (() => Promise<void>) | null = null;
  return (write, stopped) => {
    if (write !== null) unsaved = write;
    return copies.save('The deployed version', async () => {
      const writing = unsaved;
      await writing?.();
      if (unsaved === writing) unsaved = null;
      disk.fault = null;
      await file.setStopped(stopped);
    });
  };
}

/** Serves the copy on disk, if there is a valid one. */
async function resume(options: HostOptions, { load, serving, disk }: Parts, snapshots: SnapshotTaker): Promise<void> {
  const { file, log } = options;
  const { snapshot, stopped, fault } = await file.read();
  disk.fault = fault;
  if (fault !== null) log.error('snapshot_file_damaged', { detail: fault });
  if (snapshot === null) return;
  try {
    const { texts, ...rest } = snapshot;
    const registry = await load({ ...rest, textOf: (hash) => texts.get(hash) }, null);
    requireAuth(registry.server, options);
    snapshots.remember(snapshot.checksum, snapshot.leaves);
    const { connections, server } = registry;
    disk.stale = secretsIn([connections, server], '').some(({ sealed }) => options.staleSecret?.(sealed) ?? false);
    if (stopped) serving.pause(STOPPED, registry);
    else serving.swap(registry);
    log.info('snapshot_from_disk', { version: snapshot.version, stopped });
  } catch (error) {
    if (error instanceof AppError) serving.pause(error.detail);
    log.error('snapshot_refused', { version: snapshot.version, error: String(error) });
  }
}

/**
 * Refuses a snapshot that anyone who reaches the port could call where the installation requires authentication: a copy on disk
 * may be older than SVC_REQUIRE_AUTH.
 */
function requireAuth(
  server: FrozenServer,
  { require_auth = false, network = true }: Pick<HostOptions, 'require_auth' | 'network'>,
): void {
  if (!require_auth || !network || !asksNothing(server) || isLoopback(server.host)) return;
  throw new AppError(
    'cannot_deploy',
    `The deployed snapshot requires no credentials and listens on ${server.host}, but this installation requires authentication (SVC_REQUIRE_AUTH, which is on in production unless SVC_ALLOW_OPEN is true). Choose another auth_type, or the host 127.0.0.1, and deploy.`,
  );
}

import type { LiveToken, NamedList, IdentityList } from '#core/contract/deploy/control.ts';
import { AppError } from '#core/errors.ts';
import type { Log } from '#core/process/log.ts';
import type { Decisions } from './call/confirmation/decisions.ts';
import type { RunningCalls } from './requests/running-calls.ts';
import type { SideSnapshots } from './control/side-snapshots.ts';
import type { Replays } from './replay/replay.ts';
import type { Control, ControlEvent, ListenEvent } from './control/control.ts';
import type { HostNames } from './control/host-names.ts';
import type { Registry } from './registry/registry.ts';
import type { SnapshotTaker } from './control/take-snapshot.ts';
import type { Listener } from './transports/listener.ts';

export interface Acknowledgement {
  readonly request_id?: string;
  readonly error?: string;
  readonly load_ms?: number;
  /** The host serves nothing. */
  readonly nothing?: true;
}

/** Tells the server what the host serves: one after the other, in the background. A server that does not take it holds up no event. */
export function createAcknowledge(options: {
  readonly control: Control;
  readonly boot_id: string;
  readonly held: () => Registry | null;
  readonly url: () => string | null;
  readonly log: Log;
}): (answer: Acknowledgement) => void {
  const { control, boot_id, held, url, log } = options;
  let sending: Promise<void> = Promise.resolve();
  return ({ request_id, error, load_ms = null, nothing }) => {
    const registry = nothing === true ? null : held();
    const body = {
      boot_id,
      version: registry?.snapshot_version ?? null,
      checksum: registry?.checksum ?? null,
      load_ms,
      url: url(),
      pid: process.pid,
      error: error ?? null,
      request_id: request_id ?? null,
      ok: error === undefined,
    };
    sending = sending
      .then(() => control.post('ack', body))
      .catch((fault: unknown) => log.warning('ack_not_sent', { error: String(fault) }));
  };
}

export interface Followers {
  readonly snapshots: SnapshotTaker;
  readonly names: HostNames;
  readonly listener: Listener;
  readonly beside: Pick<SideSnapshots, 'use'>;
  readonly acknowledge: (answer: Acknowledgement) => void;
  readonly useTokens: (tokens: readonly LiveToken[]) => Promise<void>;
  readonly useIdentity: (list: IdentityList) => Promise<void>;
  readonly replays: Replays;
  readonly running: Pick<RunningCalls, 'cancel'>;
  readonly decisions: Pick<Decisions, 'take'>;
  readonly stop: () => Promise<void>;
}

/** Does what an event of the server asks for. */
export function follow(
  event: ControlEvent,
  { snapshots, names, listener, beside, replays, running, decisions, acknowledge, useTokens, useIdentity, stop }: Followers,
): Promise<void> {
  if (event.event === 'snapshot') return snapshots.take(event.data);
  if (event.event === 'tokens') return useTokens(event.data.tokens).then(() => confirm(event.data, acknowledge));
  if (event.event === 'identity') {
    const { list: _, ...identity } = event.data;
    return useIdentity(identity).then(() => confirm(event.data, acknowledge));
  }
  if (event.event === 'beside') return beside.use(event.data);
  if (event.event === 'names') return names.use(event.data.names);
  if (event.event === 'cancel') return Promise.resolve(running.cancel(event.data.id));
  if (event.event === 'decision') return Promise.resolve(decisions.take(event.data));
  // It takes its time, and holds up no event.
  if (event.event === 'replay') return Promise.resolve(replays.take(event.data));
  return event.event === 'listen' ? prepare(event.data, listener, acknowledge) : stop();
}

/** Whoever changed the list waits for it. An older server does not. */
function confirm({ list }: NamedList, acknowledge: Followers['acknowledge']): void {
  if (list !== undefined) acknowledge({ request_id: list });
}

async function prepare(
  { request_id, ...address }: ListenEvent,
  listener: Listener,
  acknowledge: Followers['acknowledge'],
): Promise<void> {
  try {
    await listener.prepare(address);
    acknowledge({ request_id });
  } catch (error) {
    acknowledge({ request_id, error: error instanceof AppError ? error.detail : 'The host could not open the address.' });
  }
}

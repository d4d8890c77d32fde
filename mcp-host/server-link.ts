import type { Log } from '#core/process/log.ts';
import { noListFile } from './auth/list-file.ts';
import { type Control, createControl } from './control/control.ts';
import { createOwnInstallation } from './control/own-installation.ts';
import type { HostOptions } from './host-options.ts';
import type { HostState } from './host-state.ts';
import type { Registry } from './registry/registry.ts';

export interface Acknowledgement {
  readonly request_id?: string;
  readonly error?: string;
  readonly load_ms?: number;
  /** Whether the host serves nothing. */
  readonly nothing?: true;
}

/** The server, as the other parts of the host reach it. */
export interface ServerLink {
  readonly control: Control;
  readonly acknowledge: (answer: Acknowledgement) => void;
  /** Reads from disk which installation the host belongs to. */
  load(): Promise<void>;
}

/** Connects to the server once `control.start` is called. */
export function createServerLink(
  options: HostOptions,
  { now, disk, address, copies }: Pick<HostState, 'now' | 'disk' | 'address' | 'copies'>,
  held: () => Registry | null,
): ServerLink {
  const { server_url, service_token, id, boot_id, retry_ms, log } = options;
  const installation = createOwnInstallation({
    file: options.installation ?? noListFile(),
    holds: () => held() !== null,
    server_url,
    copies,
    log,
  });
  const diskFault = () => copies.faults().join(' ') || null;
  const control = createControl({
    server_url,
    service_token,
    id,
    log,
    now,
    sign: () => ({ disk_fault: diskFault() }),
    ...(retry_ms && { min_retry_ms: retry_ms.min, max_retry_ms: retry_ms.max }),
    have() {
      const registry = held();
      return registry === null || disk.stale ? '' : `${registry.snapshot_version}:${registry.checksum}`;
    },
    refusal: (server) => installation.refusal(server),
  });
  const url = () => options.url ?? address.url;
  return {
    control,
    acknowledge: createAcknowledge({ control, boot_id, held, url, diskFault, log }),
    load: () => installation.load(),
  };
}

/** Reports to the server what the host serves, one message after the other, in the background: a slow server delays no event. */
function createAcknowledge(options: {
  readonly control: Pick<Control, 'post'>;
  readonly boot_id: string;
  readonly held: () => Registry | null;
  readonly url: () => string | null;
  readonly diskFault: () => string | null;
  readonly log: Log;
}): (answer: Acknowledgement) => void {
  const { control, boot_id, held, url, diskFault, log } = options;
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
      disk_fault: diskFault(),
      request_id: request_id ?? null,
      ok: error === undefined,
    };
    sending = sending
      .then(() => control.post('ack', body))
      .catch((fault: unknown) => log.warning('ack_not_sent', { error: String(fault) }));
  };
}

import type { Installation } from '#core/contract/deploy/installation.ts';
import type { Log } from '#core/log.ts';
import { type ListFile, listFile } from '#mcp-host/auth/list-file.ts';

interface Kept {
  readonly id: string;
}

/**
 * The installation that a host belongs to. A server with an empty or wrong database has a valid service token too: what it sends
 * would stop the host and end every credential.
 */
export interface OwnInstallation {
  load(): Promise<void>;
  /** Takes the installation as the host's own, unless the host serves another one. @returns why not, null: it is. */
  refusal(installation: Installation | null): string | null;
}

export interface OwnInstallationOptions {
  readonly file: ListFile<Kept>;
  /** Whether the host has a version, served or stopped. */
  readonly holds: () => boolean;
  readonly server_url: string;
  readonly log: Log;
}

export function createOwnInstallation({ file, holds, server_url, log }: OwnInstallationOptions): OwnInstallation {
  let known: string | null = null;
  const keep = (id: string): void => {
    if (id === known) return;
    known = id;
    file.write({ id }).catch((error: unknown) => log.error('installation_not_kept', { error: String(error) }));
  };
  return {
    async load() {
      try {
        known = (await file.read())?.id ?? null;
      } catch (error) {
        log.error('installation_file_damaged', { error: String(error) });
      }
    },
    refusal(installation) {
      if (installation === null) return null;
      const { id, deployed } = installation;
      // A host of an earlier edition does not know where its version is from: not from where nothing was ever deployed.
      const is_other = known === null ? !deployed : known !== id;
      if (is_other && holds()) return refusalOf(server_url);
      keep(id);
      return null;
    },
  };
}

const refusalOf = (server_url: string): string =>
  `The server at ${server_url} has another metadata database than the one this host's version was deployed from, so the host keeps what it serves and takes nothing from that server. Check SVC_DATA_DIR and SVC_DATABASE_URL of the server. If the host is to serve the new installation, stop the host, delete the folder host in its SVC_DATA_DIR and start it again.`;

const isKept = (value: unknown): value is Kept =>
  typeof value === 'object' && value !== null && 'id' in value && typeof value.id === 'string';

export const installationFile = (path: string): ListFile<Kept> => listFile(path, isKept, 'the id of an installation');

import type { Installation } from '#core/contract/deploy/installation.ts';
import type { SavedCopies } from '#core/lib/saved-copies.ts';
import type { Log } from '#core/process/log.ts';
import { type ListFile, listFile } from '#mcp-host/auth/list-file.ts';
import { isMembers } from '#mcp-host/protocol/messages.ts';

interface Known {
  /** Null: unknown, because the file is missing or damaged. */
  readonly id: string | null;
  /** An installation that was refused while `id` is unknown; null: none was refused. */
  readonly refused: string | null;
}
export type StoredInstallation = Partial<Known>;

const NOTHING: Known = { id: null, refused: null };

/**
 * The installation that a host belongs to. A server with an empty or wrong database has a valid service token too: its events
 * would stop the host and revoke every credential.
 */
export interface OwnInstallation {
  load(): Promise<void>;
  /**
   * Binds the host to the installation, unless it serves another one. @returns why the server is refused; null: it is accepted.
   */
  refusal(installation: Installation | null): string | null;
}

export interface OwnInstallationOptions {
  readonly file: ListFile<StoredInstallation>;
  /** Whether the host has loaded a version, whether or not it serves it. */
  readonly holds: () => boolean;
  readonly server_url: string;
  readonly copies: Pick<SavedCopies, 'save'>;
  readonly log: Log;
}

export function createOwnInstallation({ file, holds, server_url, copies, log }: OwnInstallationOptions): OwnInstallation {
  let known = NOTHING;
  const keep = (id: string | null, refused: string | null): void => {
    if (id === known.id && refused === known.refused) return;
    const fresh = { id, refused };
    known = fresh;
    void copies.save('The id of the installation', () => file.write(fresh));
  };
  return {
    async load() {
      try {
        known = { ...NOTHING, ...(await file.read()) };
      } catch (error) {
        log.error('installation_file_damaged', { error: String(error) });
      }
    },
    refusal(installation) {
      if (installation === null) return null;
      const { id, deployed } = installation;
      // A server without a deploy cannot be an unknown installation, even if it deploys later.
      const is_other = known.id === null ? !deployed || known.refused === id : known.id !== id;
      if (!is_other || !holds()) {
        keep(id, null);
        return null;
      }
      if (known.id === null) keep(null, id);
      return refusalOf(server_url);
    },
  };
}

const refusalOf = (server_url: string): string =>
  `The server at ${server_url} uses a different metadata database from the one that this host's version was deployed from, so the host keeps what it serves and takes nothing from that server. Check SVC_DATA_DIR and SVC_DATABASE_URL of the server. If the host is to serve the new installation, stop the host, delete the folder host in its SVC_DATA_DIR and start it again.`;

const isIdOrAbsent = (value: unknown): boolean => value === undefined || value === null || typeof value === 'string';
const isInstallation = (value: unknown): value is StoredInstallation =>
  isMembers(value) && isIdOrAbsent(value['id']) && isIdOrAbsent(value['refused']);

export const installationFile = (path: string): ListFile<StoredInstallation> =>
  listFile(path, isInstallation, 'the id of an installation');

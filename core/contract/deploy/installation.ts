/** A server's installation, as sent in the response headers of a host's control stream. */
export interface Installation {
  /** The same for all servers of one metadata database and its copies. */
  readonly id: string;
  /** Whether a version was ever deployed. */
  readonly deployed: boolean;
}

const ID = 'x-sluice-installation';
const DEPLOYED = 'x-sluice-deployed';

export const installationHeaders = ({ id, deployed }: Installation): Record<string, string> => ({
  [ID]: id,
  [DEPLOYED]: String(deployed),
});

/** @returns null if the headers are missing. */
export function installationOf(headers: Headers): Installation | null {
  const id = headers.get(ID);
  return id === null ? null : { id, deployed: headers.get(DEPLOYED) === 'true' };
}

/** What the response of a host's control stream says of its server. */
export interface Installation {
  /** The same for every server of one metadata database, and for its copies. */
  readonly id: string;
  /** Whether anything was ever deployed. */
  readonly deployed: boolean;
}

const ID = 'x-sluice-installation';
const DEPLOYED = 'x-sluice-deployed';

export const installationHeaders = ({ id, deployed }: Installation): Record<string, string> => ({
  [ID]: id,
  [DEPLOYED]: String(deployed),
});

/** @returns null for a server of an earlier release, which does not say. */
export function installationOf(headers: Headers): Installation | null {
  const id = headers.get(ID);
  return id === null ? null : { id, deployed: headers.get(DEPLOYED) === 'true' };
}

import { pathOfFileUrl } from '#core/lib/file-url.ts';
import type { Env } from '#core/process/env.ts';
import { COMMAND } from '#core/process/env/settings.ts';
import type { SecretRefsOptions } from './secret-refs.ts';

/** Of the setting `secret_ref_ttl_seconds`, which snapshots omit while it has its default. */
export const DEFAULT_TTL_SECONDS = 300;

/** Where a program finds secrets, from its environment. Files of Sluice are not among them. */
export function secretSources(env: Env): Pick<SecretRefsOptions, 'environment' | 'commands' | 'private_paths' | 'vault'> {
  const { SVC_VAULT_ADDR: address, SVC_VAULT_ROLE_ID: role_id, SVC_VAULT_SECRET_ID: secret_id } = env;
  return {
    environment: env.variables,
    commands: new Map(env.SVC_SECRET_COMMANDS.map((item) => (COMMAND.exec(item) ?? []).slice(1) as [string, string])),
    private_paths: [env.SVC_DATA_DIR, ...metadataFile(env), ...Object.values(env.secret_files), '/proc', '/sys', '/dev'],
    vault:
      address === null
        ? null
        : {
            address,
            namespace: env.SVC_VAULT_NAMESPACE,
            token: env.SVC_VAULT_TOKEN,
            token_file: env.secret_files['SVC_VAULT_TOKEN'] ?? null,
            role: role_id === null || secret_id === null ? null : { role_id, secret_id },
          },
  };
}

/** The embedded metadata database, which may be outside the data folder. */
const metadataFile = ({ SVC_DATABASE_URL: url }: Env): string[] => {
  const path = pathOfFileUrl(url ?? '');
  return path === null ? [] : [path];
};

import { subjectOf } from '#core/contract/entities.ts';
import { isAllowedBy } from '#core/lib/text/secret-reference.ts';
import { AppError } from '#core/errors.ts';
import { referencesIn } from '#core/lib/sealed-values.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { Settings } from '#core/settings/settings.ts';
import { blobSecrets } from '#core/versions/sealed-records.ts';
import { leavesOf } from '#snapshots/format/order.ts';
import { HOLDS_SECRETS, type Leaf } from '#snapshots/format/tree.ts';
import type { FrozenConnection, FrozenResource, FrozenServer, FrozenTool } from '#snapshots/format/format.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import type { DeployGate, Finding, GateSubject } from './gate.ts';

/** Everything that would fail at the first call: refused statements, secrets that no key opens, and passthrough SQL where it is blocked. */
export const prepareGate: DeployGate = {
  name: 'prepare',
  async run({ app }, { problems, warnings, version, tree, texts }, _, { secret_refs }) {
    const [control] = problems.map((problem) => problem.control);
    const refusal = problems.every((problem) => problem.control === control) ? control : undefined;
    const found: Finding[] = problems.map(({ entity_type, name, message }, n) => ({
      refusal: refusal ?? 'cannot_deploy',
      field: `${entity_type}.${name}`,
      message: `${n === 0 ? 'The configuration cannot be deployed. ' : ''}${subjectOf(entity_type, name)}: ${message}`,
    }));
    for (const message of warnings) found.push({ message });
    const sealed = HOLDS_SECRETS.flatMap((kind) => leavesOf(tree.leaves, kind));
    found.push(...(await referenceFindings(app, await secretRefsOf(app, sealed, texts), secret_refs)));
    if (version === null) return found;
    const with_secrets = await texts(sealed);
    for (const [hash, text] of with_secrets) {
      const { kind } = sealed.find((leaf) => leaf.hash === hash) ?? { kind: 'server' as const };
      // Opening them also detects secrets that were changed.
      for (const { sealed: secret, path } of blobSecrets({ kind, text })) app.keyring.open(secret, path);
    }
    if (app.env.SVC_ALLOW_PASSTHROUGH_SQL) return found;
    for (const kind of ['tool', 'resource'] as const) {
      const frozen = await texts(leavesOf(tree.leaves, kind));
      for (const text of frozen.values()) if (isPassthrough(text)) throw passthrough(kind, text);
    }
    return found;
  },
};

/** The references of frozen connections and settings. Their texts are read once, as they never change. */
async function secretRefsOf(
  { snapshot_cache }: WithSnapshots,
  leaves: readonly Leaf[],
  texts: GateSubject['texts'],
): Promise<ReadonlySet<string>> {
  const known = new Map(leaves.map(({ hash }) => [hash, snapshot_cache.secret_refs.get(hash)]));
  for (const [hash, text] of await texts(leaves.filter((leaf) => known.get(leaf.hash) === undefined))) {
    const refs = text.includes('"ref"') ? secretRefsIn(text) : [];
    snapshot_cache.secret_refs.set(hash, refs);
    known.set(hash, refs);
  }
  return new Set([...known.values()].flatMap((refs) => refs ?? []));
}

/** References that the settings no longer allow, which block, and those that cannot be read here: hosts may be on other machines. */
async function referenceFindings(
  app: Platform,
  refs: ReadonlySet<string>,
  secret_refs: Settings['secret_refs'],
): Promise<Finding[]> {
  if (refs.size === 0) return [];
  const found = [...refs].map(async (ref): Promise<Finding[]> => {
    if (!isAllowedBy(secret_refs, ref)) {
      const message = `The secret reference ${ref} is not allowed. Add its beginning to secret_refs, or send the secret itself.`;
      return [{ refusal: 'cannot_deploy', field: 'secret_refs', message }];
    }
    try {
      await app.secrets.resolve(ref);
      return [];
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return [{ harmless: true, message: `${error.detail} This concerns the server; hosts on other machines read their own.` }];
    }
  });
  return (await Promise.all(found)).flat();
}

/** The references of a frozen connection or of the frozen settings. */
function secretRefsIn(text: string): string[] {
  const frozen = JSON.parse(text) as Partial<Pick<FrozenConnection, 'password' | 'ssl_key' | 'ssh'> & FrozenServer>;
  const { password, ssl_key, ssh, introspection_client_secret, oauth_clients = [] } = frozen;
  return referencesIn([
    password,
    ssl_key,
    ssh,
    introspection_client_secret,
    ...oauth_clients.map((client) => client.client_secret),
  ]);
}

/** Most texts have no such member, and parsing every one of a large configuration takes long. */
const isPassthrough = (text: string): boolean =>
  text.includes('"passthrough":true') && (JSON.parse(text) as FrozenTool | FrozenResource).passthrough === true;

function passthrough(kind: 'tool' | 'resource', text: string): AppError {
  const { name } = JSON.parse(text) as FrozenTool | FrozenResource;
  return new AppError(
    'passthrough_sql_blocked',
    `The ${kind} ${name} of this snapshot runs text of its callers as SQL. Set SVC_ALLOW_PASSTHROUGH_SQL=true to serve it.`,
  );
}

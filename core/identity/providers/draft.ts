import type { Platform } from '#core/platform/platform.ts';
import { MASK } from '#core/contract/definitions/connections.ts';
import { REDACTED } from '#core/contract/history.ts';
import type { IdentityProviderDraft } from '#core/contract/identity/identity-providers.ts';
import { AppError, type FieldError, refuseFields } from '#core/errors.ts';
import { isReference } from '#core/lib/sealed-values.ts';
import type { Context } from '#core/context/context.ts';
import { providerDangers, requireProof } from '#core/context/proof.ts';
import { refuseReferences } from '#core/context/secret-refs.ts';
import { APP_PREFIX } from '#core/identity/oauth/clients/clients.ts';
import { isDocumentUrl } from '#core/identity/oauth/clients/documents.ts';
import { refusePlainHttp } from './ask.ts';
import { type ProviderRow, type ProviderValues, secretPath } from './stored.ts';

/** The fields of a draft that were sent. Fields that were not sent keep their stored values. */
export type SentDraft = Omit<IdentityProviderDraft, 'client_secret'> & {
  readonly client_secret?: IdentityProviderDraft['client_secret'] | undefined;
};

/** Issuers where anyone can get an account. If such a provider may create people, everyone could sign in. */
const OPEN_TO_ALL = [
  /^https:\/\/accounts\.google\.com\/?$/,
  // Personal Microsoft accounts.
  /^https:\/\/login\.microsoftonline\.com\/(?:9188040d-6c67-4c5b-b112-36a304b66dad|common|consumers)(?:\/|$)/,
];

/** Runs every check of a write. @returns the values to store. @param stored the present row. */
export async function prepareProvider(
  context: Context,
  id: string,
  sent: SentDraft,
  stored: ProviderRow | null,
): Promise<ProviderValues> {
  const { client_secret: given, scopes, assertion_clients, ...rest } = sent;
  const values = {
    ...rest,
    scopes: [...new Set(['openid', ...scopes])],
    assertion_clients: [...new Set(assertion_clients)],
    client_secret: sealSecret(context.app, id, given, sent.issuer, stored),
  };
  await checkProvider(context, values, stored);
  return values;
}

/** A stored secret is only sent to the issuer that it was entered for. */
function sealSecret(
  { keyring }: Platform,
  id: string,
  given: SentDraft['client_secret'],
  issuer: string,
  stored: ProviderRow | null,
): ProviderRow['client_secret'] {
  const stored_secret = given === undefined || given === MASK || given === REDACTED;
  if (!stored_secret) {
    return given === null || isReference(given) ? given : { $sealed: keyring.seal(given, secretPath(id)) };
  }
  const secret = stored?.client_secret ?? null;
  if (secret === null || secret === 'missing' || stored?.issuer === issuer) return secret;
  const message = 'client_secret must be sent again, because issuer changes where it is sent.';
  throw new AppError('secret_required', message, { errors: [{ field: 'client_secret', message }] });
}

/** Checks that a schema cannot express. Reports all faults at once, except a blocked address, which has a separate error. */
export async function checkProvider(context: Context, values: ProviderValues, stored: ProviderRow | null): Promise<void> {
  const errors = faultsOf(values);
  refuseFields(errors);
  await requireProof(context, providerDangers(stored, values));
  await refuseReferences(context, stored, { client_secret: values.client_secret });
  if (stored?.issuer !== values.issuer) await checkIssuer(context.app, values.issuer);
}

function faultsOf(values: ProviderValues): FieldError[] {
  const { issuer, groups_claim, allowed_domains, create_people, default_role, role_by_group, assertion_clients } = values;
  const groups = Object.keys(role_by_group).length;
  const errors: FieldError[] = [];
  const add = (field: keyof ProviderValues, message: string) => errors.push({ field, message });
  if (groups > 0 && groups_claim === null) add('groups_claim', 'groups_claim is required with role_by_group.');
  if (default_role === null && groups === 0) {
    add('role_by_group', 'role_by_group needs at least one group when default_role is null. Otherwise nobody could sign in.');
  }
  if (values.accept_assertions && assertion_clients.length === 0) {
    add(
      'assertion_clients',
      'assertion_clients needs at least one client with accept_assertions. Otherwise every assertion is refused.',
    );
  }
  const unusable = assertion_clients.filter((client_id) => !isAssertionClient(client_id));
  if (unusable.length > 0) {
    add(
      'assertion_clients',
      'assertion_clients takes client IDs of OAuth apps (svc_app_…) and https addresses of client metadata documents, because anyone can register another client.',
    );
  }
  const anyone = create_people && default_role !== null && allowed_domains.length === 0;
  if (anyone && OPEN_TO_ALL.some((pattern) => pattern.test(issuer))) {
    add('allowed_domains', 'allowed_domains is required to create people, because anyone can get an account at this provider.');
  }
  return errors;
}

/** A client that registers itself could be anyone's, so it cannot be listed. */
const isAssertionClient = (client_id: string): boolean =>
  isDocumentUrl(client_id) || (client_id.startsWith(APP_PREFIX) && /^\w+$/.test(client_id));

/** A name that does not resolve now is accepted, because every request checks again. */
async function checkIssuer(app: Platform, issuer: string): Promise<void> {
  const { protocol, hostname, port } = new URL(issuer);
  const { resolveTarget } = await import('#core/engines/shared/dial.ts');
  try {
    await resolveTarget(hostname, Number(port || (protocol === 'https:' ? 443 : 80)), app.policy);
    await refusePlainHttp(issuer, app.policy);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.code === 'database_unreachable') return;
    throw new AppError(error.code, error.detail, { cause: error, errors: [{ field: 'issuer', message: error.detail }] });
  }
}

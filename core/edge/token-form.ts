import { AppError, asFault } from '#core/errors.ts';
import { isPlainText } from '#core/process/issues.ts';
import { readForm } from './body.ts';

/** Client credentials, as both token endpoints accept them (RFC 6749). */
export interface Login {
  readonly client_id: string;
  readonly client_secret: string;
}

/** Error codes of RFC 6749, sections 5.2 and 4.1.2.1, and of RFC 8707, section 2. */
type OauthError =
  | 'invalid_request'
  | 'invalid_client'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'invalid_target'
  | 'temporarily_unavailable';

export const NO_STORE = { 'cache-control': 'no-store', pragma: 'no-cache' };
export const BASIC_CHALLENGE = { 'www-authenticate': 'Basic realm="sluice"' };
/** Parameters that must not be repeated (RFC 6749, section 3.2). `resource` can be. */
const ONCE = [
  'grant_type',
  'refresh_token',
  'client_id',
  'client_secret',
  'scope',
  'code',
  'code_verifier',
  'redirect_uri',
  'token',
  'assertion',
];

export const refuseToken = (
  status: number,
  error: OauthError,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): Response => Response.json({ error, error_description: detail, detail }, { status, headers: { ...NO_STORE, ...headers } });

/** Reads the parameters of a token request, or returns the error response. */
export async function readTokenForm(request: Request): Promise<URLSearchParams | Response> {
  if (request.method !== 'POST') return refuseToken(405, 'invalid_request', 'Use POST.', { allow: 'POST' });
  const form = await readForm(request).catch(asFault);
  if (form instanceof AppError) return refuseToken(form.code === 'too_large' ? 413 : 400, 'invalid_request', form.detail);
  const repeated = ONCE.find((name) => form.getAll(name).length > 1);
  return repeated === undefined ? form : refuseToken(400, 'invalid_request', `${repeated} is sent more than once.`);
}

/**
 * Reads client ID and secret from the header or the body, never from both (section 2.3.1), or returns the error response. In the
 * header both must be form-encoded before Base64, which many clients omit: so there are two readings, first the one of the
 * specification.
 */
export function loginsOf(header: string | null, form: URLSearchParams): readonly Login[] | Response {
  const [id, secret] = [form.get('client_id'), form.get('client_secret')];
  if (header === null) return id === null || secret === null ? [] : [{ client_id: id, client_secret: secret }];
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header.trim())?.[1] ?? '';
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 0 || !isPlainText(decodeForm(text)))
    return refuseToken(401, 'invalid_client', 'Authorization must be Basic with client ID and secret.', BASIC_CHALLENGE);
  if (secret !== null)
    return refuseToken(400, 'invalid_request', 'Send the client secret in the header or in the body, not in both.');
  const plain = { client_id: text.slice(0, colon), client_secret: text.slice(colon + 1) };
  const logins = [{ client_id: decodeForm(plain.client_id), client_secret: decodeForm(plain.client_secret) }, plain];
  const named = id === null ? logins : logins.filter((login) => login.client_id === id);
  return named.length > 0 ? named : refuseToken(400, 'invalid_request', 'client_id in the body differs from the header.');
}

function decodeForm(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

import { BASIC_CHALLENGE, loginsOf, NO_STORE, readTokenForm, refuseToken } from '#core/edge/token-form.ts';
import { AppError } from '#core/errors.ts';
import type { ServerLink } from './server-link.ts';

const FIELDS = ['grant_type', 'refresh_token', 'scope', 'client_id', 'client_secret'];

/** The token endpoint: a form, the client in it or in HTTP Basic (RFC 6749, section 2.3.1). */
export async function answerToken(link: ServerLink, request: Request, client_address: string | null): Promise<Response> {
  const sent = await readTokenForm(request);
  if (sent instanceof Response) return sent;
  const logins = loginsOf(request.headers.get('authorization'), sent);
  if (logins instanceof Response) return logins;
  const fields = FIELDS.flatMap((name) => (sent.has(name) ? [[name, sent.get(name)] as const] : []));
  // Secrets are made here, of letters that read the same in either form.
  const form: Record<string, string | null> = { client_address, ...Object.fromEntries(fields), ...logins[0] };
  try {
    const { status, body } = await link.token(form);
    const challenge = status === 401 ? BASIC_CHALLENGE : {};
    return Response.json(body, { status, headers: { ...NO_STORE, ...challenge } });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const headers = error.retry_after === undefined ? {} : { 'retry-after': String(error.retry_after) };
    const code = error.status >= 500 || error.status === 429 ? 'temporarily_unavailable' : 'invalid_request';
    return refuseToken(error.status, code, error.detail, headers);
  }
}

/** Nobody signs in here: a client has a secret. */
export const answerAuthorize = (): Response =>
  refuseToken(
    400,
    'unsupported_response_type',
    'This server supports only client_credentials. Get a token from /agent-mcp/oauth/token with a client secret.',
  );

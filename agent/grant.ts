import { readForm } from '#core/edge/body.ts';
import { AppError, asFault } from '#core/errors.ts';
import type { ServerLink } from './server-link.ts';

const NO_STORE = { 'cache-control': 'no-store', pragma: 'no-cache' };
const FIELDS = ['grant_type', 'refresh_token', 'scope', 'client_id', 'client_secret'];

/** The token endpoint: a form, the client in it or in HTTP Basic (RFC 6749, section 2.3.1). */
export async function answerToken(link: ServerLink, request: Request, client_address: string | null): Promise<Response> {
  if (request.method !== 'POST') return refuse(405, 'invalid_request', 'Use POST.', { allow: 'POST' });
  const sent = await readForm(request).catch(asFault);
  if (sent instanceof AppError) return refuse(sent.code === 'too_large' ? 413 : 400, 'invalid_request', sent.detail);
  const form: Record<string, string | null> = { client_address };
  for (const name of FIELDS) {
    const values = sent.getAll(name);
    if (values.length > 1) return refuse(400, 'invalid_request', `${name} is given more than once.`);
    if (values[0] !== undefined) form[name] = values[0];
  }
  const authorization = request.headers.get('authorization');
  if (authorization !== null) {
    const basic = readBasic(authorization);
    if (basic === null) return unauthorised('The header Authorization is not a valid HTTP Basic one.');
    if (form['client_secret'] !== undefined) {
      return refuse(400, 'invalid_request', 'The client credentials were sent twice. Use either the form or HTTP Basic.');
    }
    if (form['client_id'] !== undefined && form['client_id'] !== basic.client_id) {
      return refuse(400, 'invalid_request', 'client_id differs between the form and HTTP Basic.');
    }
    Object.assign(form, basic);
  }
  try {
    const { status, body } = await link.token(form);
    const challenge = status === 401 ? { 'www-authenticate': 'Basic realm="sluice"' } : {};
    return Response.json(body, { status, headers: { ...NO_STORE, ...challenge } });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const headers = error.retry_after === undefined ? {} : { 'retry-after': String(error.retry_after) };
    const code = error.status >= 500 || error.status === 429 ? 'temporarily_unavailable' : 'invalid_request';
    return refuse(error.status, code, error.detail, headers);
  }
}

/** Nobody signs in here: a client has a secret. */
export const answerAuthorize = (): Response =>
  refuse(
    400,
    'unsupported_response_type',
    'This server supports only client_credentials. Get a token from /agent-mcp/oauth/token with a client secret.',
  );

const refuse = (status: number, error: string, detail: string, headers: Record<string, string> = {}): Response =>
  Response.json({ error, error_description: detail, detail }, { status, headers: { ...NO_STORE, ...headers } });
const unauthorised = (detail: string): Response =>
  refuse(401, 'invalid_client', detail, { 'www-authenticate': 'Basic realm="sluice"' });

/** Both parts are form-encoded before they are joined (RFC 6749, section 2.3.1). */
function readBasic(header: string): { client_id: string; client_secret: string } | null {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header)?.[1];
  if (encoded === undefined) return null;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 0) return null;
  try {
    const decode = (part: string) => decodeURIComponent(part.replaceAll('+', ' '));
    return { client_id: decode(text.slice(0, colon)), client_secret: decode(text.slice(colon + 1)) };
  } catch {
    return null;
  }
}

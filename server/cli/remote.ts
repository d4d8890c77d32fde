import type { ParseArgsOptionsConfig } from 'node:util';
import { type CallOperation, createClient } from '#core/client/client.ts';
import { AppError } from '#core/errors.ts';
import { isLoopback } from '#core/contract/settings/config.ts';
import { type Arguments, type Terminal, UsageError } from './command.ts';

/** A server that a command talks to, on this machine or another. */
export interface Remote {
  /** Its origin. */
  readonly url: string;
  readonly call: CallOperation;
}

export const REMOTE_USAGE = '[--url URL] [--token TOKEN]';
export const REMOTE_OPTIONS: ParseArgsOptionsConfig = { url: { type: 'string' }, token: { type: 'string' } };

const TIMEOUT_MS = 300_000;

/** Opens the server that `--url` and `--token`, or the environment, name. */
export async function openRemote({ values }: Pick<Arguments, 'values'>, terminal: Terminal): Promise<Remote> {
  const url = addressOf(values['url'] ?? terminal.environment['SLUICE_URL']);
  const origin = url.href.replace(/\/$/, '');
  warnOfPlainHttp(url, terminal);
  const token = values['token'] ?? (terminal.environment['SLUICE_TOKEN'] || (await requestClientToken(origin, terminal)));
  if (typeof token !== 'string' || token === '') {
    throw new UsageError(
      'Which token? Set SLUICE_TOKEN or pass --token, or set SLUICE_CLIENT_ID and SLUICE_CLIENT_SECRET of an OAuth client for agents.',
    );
  }
  if (/[^\x21-\x7e]/.test(token)) throw new UsageError('The token has characters that no token has. Copy it again.');
  return { url: origin, call: createClient({ base_url: origin, headers: { authorization: `Bearer ${token}` }, fetch: send }) };
}

/** Requests a token for the OAuth client of the environment; null when there is no client. */
async function requestClientToken(origin: string, { environment }: Terminal): Promise<string | null> {
  const { SLUICE_CLIENT_ID: id, SLUICE_CLIENT_SECRET: secret } = environment;
  if (!id || !secret) return null;
  const answer = await send(`${origin}/agent-mcp/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id: id, client_secret: secret }).toString(),
  });
  const body = (await answer.json()) as { readonly access_token?: string; readonly error_description?: string };
  if (answer.ok && typeof body.access_token === 'string') return body.access_token;
  const reason = body.error_description ?? 'Check SLUICE_CLIENT_ID and SLUICE_CLIENT_SECRET.';
  throw new AppError('unauthenticated', `${origin} gave the OAuth client no token: ${reason}`);
}

export function warnOfPlainHttp(url: URL, { err }: Terminal): void {
  if (url.protocol !== 'http:' || isLoopback(url.hostname.replaceAll(/[[\]]/g, ''))) return;
  err('Warning: without HTTPS anyone on the network can read the token.\n');
}

/** The address of a server without its path. */
export function addressOf(text: unknown): URL {
  if (typeof text !== 'string' || text === '') {
    throw new UsageError('Which server? Set SLUICE_URL or pass --url, such as https://sluice.example.com.');
  }
  const url = URL.canParse(text) ? new URL(text) : null;
  const fits = url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '' && url.hash === '';
  if (!fits) throw new UsageError('The address must be like https://sluice.example.com.');
  return url;
}

/** Sends a request and reports network faults as sentences. Redirects are refused, as they would leak the token. */
export async function send(url: string, init: RequestInit): Promise<Response> {
  const origin = new URL(url).origin;
  const response = await fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(
    (error: unknown) => {
      const timeout = error instanceof Error && error.name === 'TimeoutError';
      throw new AppError('unavailable', timeout ? `${origin} did not answer in time.` : `${origin} cannot be reached.`, {
        cause: error,
      });
    },
  );
  if (response.status >= 300 && response.status < 400) {
    const to = response.headers.get('location');
    const at = to !== null && URL.canParse(to, url) ? ` to ${new URL(to, url).origin}` : '';
    throw new AppError('unavailable', `${origin} redirects${at}. Use that address.`);
  }
  if (!/json/.test(response.headers.get('content-type') ?? '') && response.status !== 204) {
    throw new AppError('unavailable', `${origin} did not answer as Sluice does (status ${response.status}). Check the address.`);
  }
  return response;
}

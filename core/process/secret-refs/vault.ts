import { readFile } from 'node:fs/promises';
import type { Reference } from '#core/lib/text/secret-reference.ts';
import { unavailable } from './unavailable.ts';

export interface VaultSettings {
  readonly address: string;
  readonly namespace: string | null;
  /** The token, or the file that has it, which is read again when Vault refuses the token. */
  readonly token: string | null;
  readonly token_file: string | null;
  readonly role: { readonly role_id: string; readonly secret_id: string } | null;
}

type VaultReference = Extract<Reference, { kind: 'vault' }>;

const TIMEOUT_MS = 5_000;
const MOST_ANSWER = 1024 * 1024;

/** Reads fields of secrets from Vault's KV engine, version 2, over HTTP. */
export function createVault(settings: VaultSettings): (reference: VaultReference, ref: string) => Promise<string> {
  /** The token of a login, or of the file; null: none yet. */
  let token: string | null = settings.token;
  let login: Promise<string> | null = null;

  const send = async (ref: string, path: string, init: RequestInit): Promise<Response> => {
    const headers = new Headers(init.headers);
    if (settings.namespace !== null) headers.set('X-Vault-Namespace', settings.namespace);
    // A token is sent to the configured address only.
    const options = { ...init, headers, redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) } as const;
    try {
      return await fetch(`${settings.address.replace(/\/+$/, '')}/v1/${path}`, options);
    } catch (cause) {
      throw unavailable(ref, 'cannot be read because Vault does not answer', cause);
    }
  };
  const newToken = async (ref: string): Promise<string> => {
    if (settings.token_file !== null) return (await readFile(settings.token_file, 'utf8')).trim();
    if (settings.role === null) {
      if (settings.token === null)
        throw unavailable(ref, 'cannot be read because neither a token nor an AppRole of Vault is set');
      return settings.token;
    }
    const body = JSON.stringify(settings.role);
    const headers = { 'content-type': 'application/json' };
    const answer = await send(ref, 'auth/approle/login', { method: 'POST', headers, body });
    const { auth } = (answer.ok ? await membersOf(answer) : {}) as { auth?: { client_token?: unknown } };
    if (typeof auth?.client_token === 'string') return auth.client_token;
    throw unavailable(ref, `cannot be read because Vault refused the AppRole (status ${answer.status})`);
  };
  /** @param refused the token that Vault refused. Concurrent requests share one login. */
  const tokenAfter = async (ref: string, refused: string | null): Promise<string> => {
    if (token !== null && token !== refused) return token;
    login ??= newToken(ref).finally(() => {
      login = null;
    });
    token = await login;
    return token;
  };

  return async ({ mount, path, field }, ref) => {
    const address = `${encodeURIComponent(mount)}/data/${path.split('/').map(encodeURIComponent).join('/')}`;
    const ask = async (with_token: string) => send(ref, address, { headers: { 'X-Vault-Token': with_token } });
    const first = await tokenAfter(ref, null);
    let answer = await ask(first);
    if (answer.status === 403) {
      const second = await tokenAfter(ref, first);
      if (second !== first) {
        await answer.body?.cancel();
        answer = await ask(second);
      }
    }
    if (!answer.ok) {
      await answer.body?.cancel();
      throw unavailable(ref, FAULTS[answer.status] ?? `cannot be read because Vault answered with status ${answer.status}`);
    }
    const { data } = (await membersOf(answer)) as { data?: { data?: Readonly<Record<string, unknown>> | null } };
    const value = data?.data && Object.hasOwn(data.data, field) ? data.data[field] : undefined;
    if (typeof value !== 'string')
      throw unavailable(ref, `cannot be read because the secret in Vault has no text field ${field}`);
    return value;
  };
}

const FAULTS: Readonly<Record<number, string>> = {
  403: 'cannot be read because Vault refused the token, or the token has no access to this path',
  404: 'cannot be read because Vault has no secret at this path, or no KV engine of version 2',
};

async function membersOf(answer: Response): Promise<unknown> {
  const text = await answer.text();
  if (text.length > MOST_ANSWER) return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

import { expect } from 'bun:test';
import { asked, exchanged, refreshed, toQuery } from './sign-in.ts';

/** What a person does in a browser of their own: they are signed in, and answer what clients ask. */
export interface PersonBrowser {
  /** Opens the address that a client gave, allows or denies it. @returns where the browser is sent: the client's address, with the answer. */
  consent(address: string | URL, decision?: 'approve' | 'deny'): Promise<URL>;
  /** What the server answers them below `/api/v1`. */
  read<T>(path: string): Promise<T>;
}

/**
 * @param public_url the address that people use.
 * @param ca an authority that it trusts.
 */
export async function personBrowser(
  public_url: string,
  account: { username: string; password: string },
  ca?: string,
): Promise<PersonBrowser> {
  const fetch = (url: string | URL, options: RequestInit) =>
    globalThis.fetch(url, { ...options, ...(ca === undefined ? {} : { tls: { ca } }) });
  const json = { 'content-type': 'application/json' };
  const signed_in = await fetch(`${public_url}/api/v1/auth/login`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify(account),
  });
  expect(signed_in.status).toBe(200);
  const session = cookieOf(signed_in);
  return {
    async read<T>(path: string): Promise<T> {
      const answer = await fetch(`${public_url}/api/v1${path}`, { headers: { cookie: session } });
      expect(answer.status).toBe(200);
      return (await answer.json()) as T;
    },
    async consent(address, decision = 'approve') {
      expect(new URL(address).origin).toBe(public_url);
      const begun = await fetch(address, { redirect: 'manual' });
      expect([begun.status, begun.status === 303 ? '' : `${address} ${await begun.text()}`]).toEqual([303, '']);
      const request = new URL(begun.headers.get('location') ?? '', public_url).searchParams.get('request') ?? '';
      const decided = await fetch(`${public_url}/api/v1/oauth/requests/${request}`, {
        method: 'POST',
        headers: { ...json, cookie: `${session}; ${cookieOf(begun)}` },
        body: JSON.stringify({ decision }),
      });
      const { redirect_to = '', detail } = (await decided.json()) as { redirect_to?: string; detail?: string };
      expect(detail).toBeUndefined();
      const answer = new URL(redirect_to);
      expect(answer.searchParams.get('iss')).toBe(public_url);
      return answer;
    },
  };
}

const cookieOf = (answer: Response): string => answer.headers.get('set-cookie')?.split(';')[0] ?? '';

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

/** Signs a client in for one resource, by its requests alone. */
export async function tokensFor(public_url: string, browser: PersonBrowser, resource: string): Promise<Tokens> {
  const answer = await browser.consent(`${public_url}/oauth/authorize?${toQuery(asked({ resource }))}`);
  const code = answer.searchParams.get('code') ?? '';
  const { status, body } = await askForTokens(public_url, exchanged(code, { resource }));
  expect(status).toBe(200);
  return body;
}

export const renew = (public_url: string, { refresh_token }: Tokens) => askForTokens(public_url, refreshed(refresh_token));

async function askForTokens(public_url: string, form: Parameters<typeof toQuery>[0]): Promise<{ status: number; body: Tokens }> {
  const answer = await fetch(`${public_url}/oauth/token`, { method: 'POST', body: new URLSearchParams(toQuery(form)) });
  return { status: answer.status, body: (await answer.json()) as Tokens };
}

/** Somebody whom the administrator invites, and who accepts. @returns their id. */
export async function joinAs(
  programs: { api<T>(method: string, path: string, body?: unknown): Promise<T>; readonly url: string },
  draft: { readonly username: string } & Record<string, unknown>,
  password: string,
): Promise<string> {
  const { id } = await programs.api<{ id: string }>('POST', '/people', draft);
  const { invite_url } = await programs.api<{ invite_url: string }>('POST', `/people/${id}/invite`, {});
  const accepted = await fetch(`${programs.url}/api/v1/auth/accept-invite`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: new URL(invite_url).hash.slice(1), password }),
  });
  expect(accepted.status).toBe(200);
  return id;
}

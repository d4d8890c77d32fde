import type { Answer, TestApp } from './app.ts';

/** A browser: it has cookies of its own, and asks for pages. */
export interface Visitor {
  readonly cookies: Map<string, string>;
  /** A navigation within Sluice; follows nothing. */
  visit(path: string): Promise<Answer>;
  /** A request of a page of ours. */
  api(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Begins a sign-in. @returns the address at the provider. */
  start(provider_id: string, query?: string): Promise<URL>;
  /** Goes through the provider, which asks nothing. @returns the path with which the browser comes back. */
  through(address: URL): Promise<string>;
  /** The whole sign-in. @returns where it ends. */
  signIn(provider_id: string, query?: string): Promise<string>;
}

export function visitor(t: TestApp, headers: Record<string, string> = {}): Visitor {
  const cookies = new Map<string, string>();
  const send = async (method: string, path: string, accept: string, body?: unknown): Promise<Answer> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await t.request(method, path, {
      anonymous: true,
      headers: { accept, ...(cookie === '' ? {} : { cookie }), ...headers },
      ...(body === undefined ? {} : { body }),
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/max-age=0/i.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
    return answer;
  };
  const self: Visitor = {
    cookies,
    visit: (path) => send('GET', path, 'text/html,*/*'),
    api: (method, path, body) => send(method, `/api/v1${path}`, 'application/json', body),
    async start(provider_id, query = '') {
      const { headers } = await self.visit(`/api/v1/auth/oidc/${provider_id}/start${query}`);
      return new URL(headers.get('location') ?? '', 'http://localhost');
    },
    async through(address) {
      const answer = await fetch(address, { redirect: 'manual' });
      const back = new URL(answer.headers.get('location') ?? '');
      return `${back.pathname}${back.search}`;
    },
    async signIn(provider_id, query) {
      const address = await self.start(provider_id, query);
      if (address.host === 'localhost') return address.pathname + address.search;
      return (await self.visit(await self.through(address))).headers.get('location') ?? '';
    },
  };
  return self;
}

import { fileURLToPath } from 'node:url';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

const PROGRAM = fileURLToPath(new URL('oidc-provider-program.mjs', import.meta.url));

export interface OidcProvider {
  readonly client: { readonly issuer: string; readonly client_id: string; readonly client_secret: string };
  stop(): Promise<void>;
}

/** `oidc-provider` as a program of its own. Anyone may sign in there by any name; `grace` is in the groups data and staff. */
export async function startOidcProvider(redirect_uri: string): Promise<OidcProvider> {
  const port = freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const client_secret = 'a secret of the client';
  const child = Bun.spawn([process.execPath, PROGRAM, String(port), redirect_uri, client_secret], {
    stdout: 'ignore',
    stderr: 'ignore',
  });
  await until(async () => (await fetch(`${issuer}/.well-known/openid-configuration`)).ok);
  return {
    client: { issuer, client_id: 'sluice', client_secret },
    async stop() {
      child.kill();
      await child.exited;
    },
  };
}

/** Signs in there as a browser would, by its forms. @returns where the browser is sent back to. */
export async function passOidcProvider(address: URL, login: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = address;
  let form: URLSearchParams | undefined;
  for (let step = 0; step < 12; step++) {
    if (url.origin !== address.origin) return url;
    const answer: Response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form === undefined ? {} : { method: 'POST', body: form }),
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = answer.headers.get('location');
    form = location === null ? new URLSearchParams({ prompt: 'login', login, password: 'any' }) : undefined;
    const page = await answer.text();
    const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
    url = new URL(location ?? action ?? '', url);
  }
  throw new Error('The provider did not send the browser back.');
}

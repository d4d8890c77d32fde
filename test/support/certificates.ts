import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface Authority {
  readonly ca: string;
  /** `names` as in a subjectAltName: `DNS:db.example.test`, `IP:127.0.0.1`. */
  issue(...names: string[]): Promise<Certificate>;
  /** A certificate that names a person or an account instead of a host. */
  issueFor(account: string): Promise<Certificate>;
  remove(): Promise<void>;
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

/** A certificate authority of a test, made with openssl in a folder of its own. */
export async function createAuthority(name: string): Promise<Authority> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-ca-'));
  const at = (file: string) => join(folder, file);
  const read = (file: string) => Bun.file(at(file)).text();
  let issued = 0;
  await openssl('req', '-x509', ...NEW_KEY, '-keyout', at('ca.key'), '-out', at('ca.pem'), '-days', '2', '-subj', `/CN=${name}`);

  async function sign(common_name: string, extension: string): Promise<Certificate> {
    const id = `leaf${issued++}`;
    const key = `${id}.key`;
    const cert = `${id}.pem`;
    await openssl('req', ...NEW_KEY, '-keyout', at(key), '-out', at(`${id}.csr`), '-subj', `/CN=${common_name}`);
    await Bun.write(at(`${id}.ext`), extension);
    const request = ['-req', '-in', at(`${id}.csr`), '-extfile', at(`${id}.ext`), '-days', '2'];
    await openssl('x509', ...request, '-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-CAcreateserial', '-out', at(cert));
    return { cert: await read(cert), key: await read(key) };
  }

  return {
    ca: await read('ca.pem'),
    issue: (...names) => sign('server', `subjectAltName=${names.join(',')}`),
    issueFor: (account) => sign(account, 'extendedKeyUsage=clientAuth'),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

async function openssl(...args: string[]): Promise<void> {
  const child = Bun.spawn(['openssl', ...args], { stdout: 'ignore', stderr: 'pipe' });
  if ((await child.exited) !== 0) throw new Error(`openssl ${args[0]}: ${await new Response(child.stderr).text()}`);
}

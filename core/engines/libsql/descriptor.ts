import { invalidField } from '#core/errors.ts';
import { checkHost } from '../shared/check.ts';
import { addressOf } from '../shared/network.ts';
import type { EngineDescriptor } from '../shared/descriptor.ts';
import { keyVariable, passwordVariable } from '../shared/project.ts';
import { SQLITE_DIALECT } from '../sqlite/dialect.ts';

export const LIBSQL: EngineDescriptor = {
  name: 'libsql',
  kinds: [
    {
      db_type: 'libsql',
      default_port: null,
      note: 'Over HTTP; the password is the token, and the database is only a label. The server has no read-only sessions: use a read-only token where tools only read.',
      telemetry: 'sqlite',
    },
  ],
  dialect: SQLITE_DIALECT,
  required_fields: ['host', 'database'],
  extras: [],
  session: null,
  over_http: true,
  token: true,
  bundle: ({ ssl_mode, ssl_ca, ssl_cert, ssl_key }) => {
    const has_certificates = ssl_ca !== null || ssl_cert !== null || ssl_key !== null;
    const partial = ssl_mode === 'require' || ssl_mode === 'verify-ca';
    return [
      ...(has_certificates
        ? ['has certificates of its own, and the fetch of a platform verifies by public authorities only.']
        : []),
      ...(partial ? [`has ssl_mode ${ssl_mode}, and the fetch of a platform verifies every certificate in full.`] : []),
    ];
  },
  async check(target, policy) {
    const { isToken } = await import('./http.ts');
    if (typeof target.password === 'string' && !isToken(target.password)) {
      throw invalidField('password', 'password contains characters that are invalid in a token; send only the token.');
    }
    await checkHost(target, policy);
  },
  open: async () => (await import('./source.ts')).openLibsql,
  plans: async () => (await import('#core/engines/sqlite/explain.ts')).SQLITE_PLANS,
  project: {
    driver: 'snapshots/generate/project/drivers/libsql.ts',
    packages: [],
    networked: true,
    enforced:
      'A tool that only reads runs a statement only if the libSQL server says that it changes nothing, and rolls it back. After the timeout the call ends; the server may work on the statement a while longer, and nothing of it is committed.',
    variables: (named) => [
      { name: `${named.prefix}_URL`, member: 'url', fallback: addressOf(named.connection).origin },
      passwordVariable(named, 'token'),
      ...keyVariable(named),
    ],
  },
};

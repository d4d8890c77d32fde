import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { login, LoginFault } from '#core/lib/postgres/login.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';

const message = (type: string, body: Buffer) => {
  const head = Buffer.from(`${type}\0\0\0\0`, 'latin1');
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};
const auth = (code: number, text = '') => message('R', Buffer.concat([Buffer.from([0, 0, 0, code]), Buffer.from(text)]));
const READY = message('Z', Buffer.from('I'));
const SCRAM = auth(10, 'SCRAM-SHA-256\0\0');

/** Answers each message of a client in turn. */
function openLoginServer(answer: (said: string, step: number) => Buffer) {
  return Bun.listen<{ step: number }>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open: (socket) => void (socket.data = { step: 0 }),
      data: (socket, bytes) => void socket.write(answer(bytes.toString('latin1'), socket.data.step++)),
    },
  });
}

/** What a login ends with, its error included. */
async function signIn(port: number, password: string): Promise<unknown> {
  const socket = connect(port, '127.0.0.1');
  try {
    return await login(socket, { user: 'x', password, database: 'x', settings: {} });
  } catch (error) {
    return error;
  } finally {
    socket.destroy();
  }
}

describe.skipIf(!reachable.postgres)('a password whose letters have more than one form', () => {
  let database: TestDatabase;
  const role = `scram_${crypto.randomUUID().slice(0, 8)}`;
  beforeAll(async () => {
    database = await testDatabase('postgresql');
    await database.run(`create role ${role}`);
  });
  afterAll(async () => {
    await database.run(`drop role ${role}`);
    await database.drop();
  });

  test.each([
    ['plain ASCII', 'secret, with = and ,'],
    ['a ligature', '\ufb01ne'],
    ['a Roman numeral', '\u2168'],
    ['a space that does not break', 'a\u00a0b'],
    ['a space of Ogham', 'a\u1680b'],
    ['a space without a width', 'a\u200bb'],
    ['a soft hyphen', 'I\u00adX'],
    ['a letter with its accent behind it', 'e\u0301'],
    ['a heart with a colour', '\u2764\ufe0fx'],
    ['a cup with a colour, newer than RFC 3454', '\u2615\ufe0fx'],
    ['a wide letter beside an emoji', '\uff58\u{1f511}'],
    ['a wide letter beside a control character', '\uff58\u0007'],
    ['a wide letter of private use', '\uff58\ue000'],
    ['Hebrew', '\u05d0\u00ad\u05d1'],
    ['Hebrew and Latin together', '\uff58\u05d0\u05d1'],
    ['nothing but what is left out', '\u00ad'],
  ])('%s: proves the same as PostgreSQL keeps of it', async (_, password) => {
    await database.run(`alter role ${role} password '${password}'`);
    const [row] = await database.run(`select rolpassword from pg_authid where rolname = '${role}'`);
    const [, rounds, salt = '', stored = ''] = /^SCRAM-SHA-256\$(\d+):([^$]+)\$([^:]+):/.exec(String(row?.['rolpassword'])) ?? [];
    let first = '';
    let challenge = '';
    let is_proved = false;
    using server = openLoginServer((said, step) => {
      if (step === 0) return SCRAM;
      if (step === 1) {
        first = /n=\*,r=[^,]+$/.exec(said)?.[0] ?? '';
        challenge = `${first.slice(4)}x,s=${salt},i=${rounds}`;
        return auth(11, challenge);
      }
      const [, unproved = '', proof = ''] = /(c=.*),p=(.*)$/.exec(said) ?? [];
      const signature = createHmac('sha256', Buffer.from(stored, 'base64')).update(`${first},${challenge},${unproved}`).digest();
      const key = Buffer.from(proof, 'base64').map((byte, i) => byte ^ signature[i]!);
      is_proved = createHash('sha256').update(key).digest('base64') === stored;
      return message('E', Buffer.from('SFATAL\0C28P01\0Mno\0\0'));
    });
    await signIn(server.port, password);
    expect(is_proved).toBe(true);
  });
});

test('a login on a socket that was closed before it ends at once', async () => {
  using server = openLoginServer(() => Buffer.alloc(0));
  const socket = connect(server.port, '127.0.0.1');
  await once(socket, 'connect');
  socket.destroy();
  await once(socket, 'close');
  const ended = login(socket, { user: 'x', password: '', database: 'x', settings: {} }).catch((error: unknown) => error);
  expect(await Promise.race([ended, Bun.sleep(500)])).toMatchObject({ kind: 'closed' });
});

test.each([
  ['at once', [READY]],
  ['instead of the password', [auth(3), READY]],
  ['in the middle of SCRAM', [SCRAM, READY]],
])('a server that is ready %s has nobody signed in', async (_, answers) => {
  using server = openLoginServer((_said, step) => answers[step] ?? Buffer.alloc(0));
  expect(await signIn(server.port, 'secret')).toMatchObject({ kind: 'strange' });
});

describe('a server that cannot prove that it knows the password', () => {
  test.each<[string, (nonce: string) => Buffer[]]>([
    ['goes on without a proof', (nonce) => [auth(11, `r=${nonce}x,s=eA==,i=4096`), auth(0)]],
    [
      'gives a wrong proof',
      (nonce) => [auth(11, `r=${nonce}x,s=eA==,i=4096`), auth(12, `v=${Buffer.alloc(32).toString('base64')}`)],
    ],
    ['gives an empty proof', (nonce) => [auth(11, `r=${nonce}x,s=eA==,i=4096`), auth(12, 'v=')]],
    ['takes our own nonce', (nonce) => [auth(11, `r=${nonce},s=eA==,i=4096`)]],
    ['brings a nonce of its own', () => [auth(11, 'r=other,s=eA==,i=4096')]],
    ['asks for too many rounds', (nonce) => [auth(11, `r=${nonce}x,s=eA==,i=9999999`)]],
  ])('%s: it is refused', async (_, answers) => {
    let given: readonly Buffer[] = [];
    using server = openLoginServer((said, step) => {
      if (step === 0) return SCRAM;
      if (step === 1) given = answers(/r=([^,]+)$/.exec(said)?.[1] ?? '');
      return step === 1 ? (given[0] ?? READY) : Buffer.concat([given[1] ?? Buffer.alloc(0), READY]);
    });
    const error = await signIn(server.port, 'secret');
    expect(error).toBeInstanceOf(LoginFault);
    expect(error).toMatchObject({ kind: 'strange' });
  });
});

import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Socket } from 'node:net';
import { promisify } from 'node:util';
import { passwordMessage, startupMessage } from './messages.ts';
import { type Incoming, readError } from './reader.ts';
import { preparePassword } from './saslprep.ts';

/** The account, and the settings that the session begins with. */
export interface Login {
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** Settings of the startup message. */
  readonly settings: Readonly<Record<string, string>>;
}

export interface LoggedIn {
  /** Identifies the session in a cancel request. */
  readonly backend: { readonly pid: number; readonly secret: number };
  /** Bytes received after the login. */
  readonly rest: Buffer;
}

/**
 * `strange`: not a PostgreSQL server; `unsupported`: an unknown authentication method; `closed`: the server closed the
 * connection.
 */
export class LoginFault extends Error {
  override readonly name = 'LoginFault';
  readonly kind: 'strange' | 'unsupported' | 'closed';

  constructor(kind: LoginFault['kind']) {
    super(`The login failed: ${kind}.`);
    this.kind = kind;
  }
}

/** Maximum bytes of a whole login; servers send some hundred. */
const LOGIN_BYTES = 256 * 1024;
const HEADER = 5;
/** Authentication, ParameterStatus, BackendKeyData, ErrorResponse, NoticeResponse, ReadyForQuery, NegotiateProtocolVersion. */
const TYPES = new Set(['R', 'S', 'K', 'E', 'N', 'Z', 'v'].map((type) => type.charCodeAt(0)));
const AUTHENTICATION = { ok: 0, cleartext: 3, md5: 5, sasl: 10, sasl_continue: 11, sasl_final: 12 };
const MECHANISM = 'SCRAM-SHA-256';
const SERVER_FIRST = /^r=([\x21-\x2b\x2d-\x7e]+),s=([A-Za-z0-9+/]+=*),i=(\d{1,7})(?:,|$)/;
/** Servers use fewer rounds. A larger number would only keep this process busy. */
const MAX_ROUNDS = 1_000_000;
const derive = promisify(pbkdf2);

/**
 * Signs in on a new socket: without a password, with a cleartext password, with MD5 or with SCRAM-SHA-256 (PostgreSQL 55.2 and
 * 55.3, RFC 5802). Rejects with a LoginFault, or with the fields of the server's error. The caller limits the time and destroys
 * the socket after a failure. The socket is paused afterwards.
 */
export async function login(socket: Socket, options: Login): Promise<LoggedIn> {
  const inbox = openInbox(socket);
  const scram: Scram = { nonce: null, proof: null };
  let backend = { pid: 0, secret: 0 };
  let is_let_in = false;
  try {
    socket.write(startupMessage({ ...options.settings, user: options.user, database: options.database }));
    for (;;) {
      const incoming = await inbox.next();
      const { type, bytes, body } = incoming;
      if (type === 'E') throw readError(incoming);
      if (type === 'Z' && !is_let_in) throw new LoginFault('strange');
      if (type === 'Z') return { backend, rest: inbox.rest() };
      if (type === 'K') backend = { pid: bytes.readUInt32BE(body), secret: bytes.readUInt32BE(body + 4) };
      if (type !== 'R') continue;
      const answer = await answerTo(incoming, options, scram);
      is_let_in = bytes.readUInt32BE(body) === AUTHENTICATION.ok;
      if (answer !== null) socket.write(passwordMessage(answer));
    }
  } finally {
    inbox.close();
  }
}

/** The answer to an authentication message; null when it needs none. */
async function answerTo(
  { bytes, body, end }: Incoming,
  { user, password }: Login,
  scram: Scram,
): Promise<string | Buffer | null> {
  const data = bytes.subarray(body + 4, end);
  switch (bytes.readUInt32BE(body)) {
    case AUTHENTICATION.ok:
      // A server that did not prove that it knows the password may be an impostor.
      if (scram.nonce !== null && scram.proof !== PROVED) throw new LoginFault('strange');
      return null;
    case AUTHENTICATION.cleartext:
      return `${password}\0`;
    case AUTHENTICATION.md5:
      return `md5${md5(Buffer.concat([Buffer.from(md5(Buffer.from(password + user))), data.subarray(0, 4)]))}\0`;
    case AUTHENTICATION.sasl: {
      if (!data.toString('latin1').split('\0').includes(MECHANISM)) throw new LoginFault('unsupported');
      scram.nonce = randomBytes(18).toString('base64');
      const first = Buffer.from(`n,,${clientFirst(scram.nonce)}`);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(first.length);
      return Buffer.concat([Buffer.from(`${MECHANISM}\0`), length, first]);
    }
    case AUTHENTICATION.sasl_continue: {
      const { answer, proof } = await prove(data.toString('latin1'), scram.nonce, password);
      scram.proof = proof;
      return answer;
    }
    case AUTHENTICATION.sasl_final: {
      const given = /^v=([A-Za-z0-9+/]+=*)/.exec(data.toString('latin1'))?.[1] ?? '';
      if (scram.proof === null || !isSame(given, scram.proof)) throw new LoginFault('strange');
      scram.proof = PROVED;
      return null;
    }
    default:
      throw new LoginFault('unsupported');
  }
}

interface Scram {
  nonce: string | null;
  /** The proof that the server must send. */
  proof: string | null;
}
const PROVED = '';

const clientFirst = (nonce: string): string => `n=*,r=${nonce}`;

/** The client's proof of RFC 5802, section 3, and the proof that the server must send. */
async function prove(server_first: string, nonce: string | null, password: string) {
  const [, all = '', salt = '', rounds = '0'] = SERVER_FIRST.exec(server_first) ?? [];
  const count = Number(rounds);
  if (nonce === null || !all.startsWith(nonce) || all === nonce || count === 0 || count > MAX_ROUNDS)
    throw new LoginFault('strange');
  const salted = await derive(preparePassword(password), Buffer.from(salt, 'base64'), count, 32, 'sha256');
  const key = hmac(salted, 'Client Key');
  const unproved = `c=biws,r=${all}`;
  const auth_message = `${clientFirst(nonce)},${server_first},${unproved}`;
  const signature = hmac(createHash('sha256').update(key).digest(), auth_message);
  return {
    answer: `${unproved},p=${Buffer.from(key.map((byte, i) => byte ^ signature[i]!)).toString('base64')}`,
    proof: hmac(hmac(salted, 'Server Key'), auth_message).toString('base64'),
  };
}

const md5 = (bytes: Buffer): string => createHash('md5').update(bytes).digest('hex');
const hmac = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
const isSame = (a: string, b: string): boolean => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));

/** Reads the messages of a login, one at a time. */
function openInbox(socket: Socket) {
  let held: Buffer = Buffer.alloc(0);
  let total = 0;
  let fault: LoginFault | null = null;
  let wake = () => {};
  const fail = (kind: LoginFault['kind']) => {
    fault ??= new LoginFault(kind);
    wake();
  };
  const take = (chunk: Buffer) => {
    held = Buffer.concat([held, chunk]);
    total += chunk.length;
    if (total > LOGIN_BYTES) return fail('strange');
    wake();
  };
  const onClose = () => fail('closed');
  socket.on('data', take).once('close', onClose).resume();
  // A destroyed socket emits no further `close`.
  if (socket.destroyed) onClose();

  return {
    /** Rejects with the reason that ended the login. */
    async next(): Promise<Incoming> {
      for (;;) {
        if (fault !== null) throw fault;
        if (held.length > 0 && !TYPES.has(held[0]!)) throw new LoginFault('strange');
        const length = held.length < HEADER ? 0 : held.readUInt32BE(1);
        if (held.length >= HEADER && (length < 4 || length > LOGIN_BYTES)) throw new LoginFault('strange');
        if (held.length >= HEADER && held.length > length) {
          const [bytes, end] = [held, 1 + length];
          held = bytes.subarray(end);
          return { type: String.fromCharCode(bytes[0]!), bytes, body: HEADER, end };
        }
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
    rest: () => held,
    close() {
      socket.off('data', take).off('close', onClose);
      socket.pause();
    },
  };
}

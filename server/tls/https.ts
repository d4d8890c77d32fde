import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { runEvery } from '#core/platform/run-every.ts';
import { isValid, openCertificateKey, readCertificate } from '#core/server-config/certificates.ts';
import { readSettings } from '#core/settings/settings.ts';
import { type Listener, type ListenOptions, listen } from '../http/listen.ts';
import type { HttpsState } from '#server/request/server-env.ts';
import { openTerminator, type Terminator } from './terminator.ts';

export interface Https extends HttpsState {
  start(options: Omit<ListenOptions, 'port' | 'tunnels'>): void;
  /** The port that HTTPS listens on now. */
  port(): number | null;
  stop(): Promise<void>;
}

const LOOK_MS = 2_000;
/** Streams of a listener that is closed may go on for so long. */
const GRACE_MS = 10_000;
const HTTP_PORT = 80;

/** Listens for HTTPS while it is turned on and there is a certificate; shows a new certificate as soon as it is stored. */
export function createHttps(app: ControlPlane): Https {
  const { env } = app;
  const log = app.log.from('tls');
  let terminator: Terminator | null = null;
  let inner: Listener | null = null;
  let plain: Listener | null = null;
  let shown: string | null = null;
  let domains: readonly string[] | null = null;
  const told = new Map<number, string>();
  let end: () => void = () => undefined;
  let looking = Promise.resolve();
  const stopping = Promise.withResolvers<void>();

  /** What keeps a port from being had is told once. */
  const tell = (port: number, error: unknown, level: 'error' | 'warning', what: string, hint = ''): void => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (told.get(port) === code) return;
    told.set(port, code);
    log[level](`${what} cannot listen on port ${port}: ${REASONS[code] ?? 'the system refused it'}.${hint}`, { code });
  };

  const openTls = async (chain: string, key: string, options: Omit<ListenOptions, 'port' | 'tunnels'>): Promise<void> => {
    const tunnels = new Map<number, string>();
    const behind = listen({ ...options, hostname: '127.0.0.1', port: 0, tunnels });
    try {
      const target = behind.port;
      terminator = await openTerminator({ chain, key }, { hostname: options.hostname, port: env.SVC_SSL_PORT, target, tunnels });
      inner = behind;
      told.delete(env.SVC_SSL_PORT);
      log.info('HTTPS listens', { port: terminator.port });
    } catch (error) {
      await behind.stop();
      tell(
        env.SVC_SSL_PORT,
        error,
        'error',
        'HTTPS',
        ' Free it, or set SVC_SSL_PORT to another port and forward port 443 to it.',
      );
    }
  };

  const closeTls = async (grace: Promise<unknown>): Promise<void> => {
    const [closing, behind] = [terminator, inner];
    [terminator, inner, shown] = [null, null, null];
    // Idle connections are closed, running exchanges may end.
    void behind?.drain();
    await closing?.close(grace);
    await behind?.stop();
  };

  /** Browsers and authorities come to port 80 by themselves. Without it the front port does the same, if 80 leads there. */
  const openPlain = (options: Omit<ListenOptions, 'port' | 'tunnels'>): void => {
    if (plain !== null || env.SVC_SSL_PORT !== 443 || env.SVC_PORT === HTTP_PORT) return;
    try {
      plain = listen({ ...options, port: HTTP_PORT });
      log.info('redirects and challenges are answered on port 80');
    } catch (error) {
      tell(HTTP_PORT, error, 'warning', `Forward port 80 to port ${env.SVC_PORT}: this server`);
    }
  };

  const closePlain = async (grace: Promise<unknown>): Promise<void> => {
    const closing = plain;
    plain = null;
    await Promise.race([closing?.drain(), grace]);
    await closing?.stop();
  };

  const look = async (options: Omit<ListenOptions, 'port' | 'tunnels'>): Promise<void> => {
    const { settings } = await readSettings(app);
    if (!settings.ssl_enabled) {
      domains = null;
      const grace = () => Promise.race([Bun.sleep(GRACE_MS), stopping.promise]);
      // Who turned it off may have come this way, and is answered.
      if (plain !== null) app.background(closePlain(grace()));
      if (terminator !== null) {
        log.info('HTTPS is turned off');
        app.background(closeTls(grace()));
      }
      return;
    }
    openPlain(options);
    const row = await readCertificate(app);
    if (row.chain === null) {
      domains = null;
      return;
    }
    if (row.chain !== shown) {
      const key = openCertificateKey(app, row) ?? '';
      if (terminator === null) await openTls(row.chain, key, options);
      else {
        terminator.use({ chain: row.chain, key });
        log.info('the new certificate is in use', { domains: row.domains, valid_until: row.valid_until });
      }
      if (terminator !== null) shown = row.chain;
    }
    domains = terminator !== null && isValid(app, row) ? row.domains : null;
  };

  return {
    serving: () => (domains === null ? null : { domains }),
    port: () => terminator?.port ?? null,
    start(options) {
      end = runEvery(app, {
        every_ms: LOOK_MS,
        what: 'loading the certificate',
        work: () => (looking = look(options)),
        at_once: true,
        wake: 'certificate',
      });
    },
    async stop() {
      end();
      stopping.resolve();
      await looking.catch(() => undefined);
      domains = null;
      await Promise.all([closeTls(stopping.promise), closePlain(stopping.promise)]);
    },
  };
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program uses it',
  EACCES: 'this program has no permission to use it',
  EADDRNOTAVAIL: 'this machine does not have the address in SVC_BIND',
};

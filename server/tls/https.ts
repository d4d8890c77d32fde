import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import type { Log } from '#core/process/log.ts';
import { type Outcome, runEvery } from '#core/platform/run-every.ts';
import { isValid, openCertificateKey, readCertificate } from '#core/server-config/certificates.ts';
import { readSettings } from '#core/settings/settings.ts';
import { type Listener, type ListenOptions, listen } from '../http/listen.ts';
import type { HttpsState } from '#server/request/server-env.ts';
import { type Handshake, openTerminator, type Terminator } from './terminator.ts';

export interface Https extends HttpsState {
  start(options: Omit<ListenOptions, 'port' | 'tunnels'>): void;
  /** The port that HTTPS listens on; null: it is off. */
  port(): number | null;
  stop(): Promise<void>;
}

const LOOK_MS = 2_000;
/** How long streams of a closed listener may continue. */
const GRACE_MS = 10_000;
const HTTP_PORT = 80;

export const createHttps = (app: ControlPlane): Https => new TlsListeners(app);

/** Listens for HTTPS while it is on and there is a certificate; uses a new certificate as soon as it is stored. */
class TlsListeners implements Https {
  readonly #app: ControlPlane;
  readonly #log: Log;
  #terminator: Terminator | null = null;
  #inner: Listener | null = null;
  #plain: Listener | null = null;
  #shown: string | null = null;
  #domains: readonly string[] | null = null;
  readonly #reported = new Map<number, string>();
  #end: () => void = () => undefined;
  #looking: Promise<Outcome> = Promise.resolve();
  readonly #stopping = Promise.withResolvers<void>();

  constructor(app: ControlPlane) {
    this.#app = app;
    this.#log = app.log.from('tls');
  }

  serving(): ReturnType<HttpsState['serving']> {
    return this.#domains === null ? null : { domains: this.#domains };
  }

  port(): number | null {
    return this.#terminator?.port ?? null;
  }

  start(options: Omit<ListenOptions, 'port' | 'tunnels'>): void {
    this.#end = runEvery(this.#app, {
      every_ms: LOOK_MS,
      what: 'loading the certificate',
      work: () => (this.#looking = this.#look(options)),
      at_once: true,
      wake: 'certificate',
    });
  }

  async stop(): Promise<void> {
    this.#end();
    this.#stopping.resolve();
    await this.#looking.catch(() => undefined);
    this.#domains = null;
    await Promise.all([this.#closeTls(this.#stopping.promise), this.#closePlain(this.#stopping.promise)]);
  }

  /** Reports once why a port cannot be opened. */
  #tell(port: number, error: unknown, level: 'error' | 'warning', what: string, hint = ''): void {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (this.#reported.get(port) === code) return;
    this.#reported.set(port, code);
    this.#log[level](`${what} cannot listen on port ${port}: ${REASONS[code] ?? 'the system refused it'}.${hint}`, { code });
  }

  async #openTls(handshake: Handshake, options: Omit<ListenOptions, 'port' | 'tunnels'>): Promise<void> {
    const tunnels = new Map<number, string>();
    const behind = listen({ ...options, hostname: '127.0.0.1', port: 0, tunnels });
    try {
      const target = behind.port;
      this.#terminator = await openTerminator(handshake, {
        hostname: options.hostname,
        port: this.#app.env.SVC_SSL_PORT,
        target,
        tunnels,
      });
      this.#inner = behind;
      this.#reported.delete(this.#app.env.SVC_SSL_PORT);
      this.#log.info('HTTPS listens', { port: this.#terminator.port });
    } catch (error) {
      await behind.stop();
      this.#tell(
        this.#app.env.SVC_SSL_PORT,
        error,
        'error',
        'HTTPS',
        ' Free it, or set SVC_SSL_PORT to another port and forward port 443 to it.',
      );
    }
  }

  async #closeTls(grace: Promise<unknown>): Promise<void> {
    const [closing, behind] = [this.#terminator, this.#inner];
    [this.#terminator, this.#inner, this.#shown] = [null, null, null];
    // Idle connections are closed, running exchanges may end.
    void behind?.drain();
    await closing?.close(grace);
    await behind?.stop();
  }

  /** Opens port 80, the default of browsers and authorities. Without it the front port does the same, if port 80 leads there. */
  #openPlain(options: Omit<ListenOptions, 'port' | 'tunnels'>): void {
    if (this.#plain !== null || this.#app.env.SVC_SSL_PORT !== 443 || this.#app.env.SVC_PORT === HTTP_PORT) return;
    try {
      this.#plain = listen({ ...options, port: HTTP_PORT });
      this.#log.info('redirects and challenges are answered on port 80');
    } catch (error) {
      this.#tell(HTTP_PORT, error, 'warning', `Forward port 80 to port ${this.#app.env.SVC_PORT}: this server`);
    }
  }

  async #closePlain(grace: Promise<unknown>): Promise<void> {
    const closing = this.#plain;
    this.#plain = null;
    await Promise.race([closing?.drain(), grace]);
    await closing?.stop();
  }

  async #look(options: Omit<ListenOptions, 'port' | 'tunnels'>): Promise<Outcome> {
    const { settings } = await readSettings(this.#app);
    if (!settings.ssl_enabled) {
      this.#domains = null;
      const grace = () => Promise.race([Bun.sleep(GRACE_MS), this.#stopping.promise]);
      // The request that turned HTTPS off may use this connection, so it is answered first.
      if (this.#plain !== null) this.#app.background(this.#closePlain(grace()));
      if (this.#terminator !== null) {
        this.#log.info('HTTPS is turned off');
        this.#app.background(this.#closeTls(grace()));
      }
      return 'idle';
    }
    this.#openPlain(options);
    const row = await readCertificate(this.#app);
    if (row.chain === null) {
      this.#domains = null;
      return undefined;
    }
    const { min_tls_version } = settings;
    const shown = `${min_tls_version} ${row.chain}`;
    if (shown !== this.#shown) {
      const handshake = { chain: row.chain, key: openCertificateKey(this.#app, row) ?? '', min_tls_version };
      if (this.#terminator === null) await this.#openTls(handshake, options);
      else {
        this.#terminator.use(handshake);
        const { domains, valid_until } = row;
        this.#log.info('a new certificate or TLS version is in use', { domains, valid_until, min_tls_version });
      }
      if (this.#terminator !== null) this.#shown = shown;
    }
    this.#domains = this.#terminator !== null && isValid(this.#app, row) ? row.domains : null;
    return undefined;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program uses it',
  EACCES: 'this program has no permission to use it',
  EADDRNOTAVAIL: 'this machine does not have the address in SVC_BIND',
};

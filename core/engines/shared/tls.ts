import net from 'node:net';
import tls from 'node:tls';
import { AppError } from '#core/errors.ts';
import type { ConnectionSettings } from './connection-settings.ts';

type TlsSettings = Pick<ConnectionSettings, 'host' | 'ssl_mode' | 'ssl_ca' | 'ssl_cert' | 'ssl_key'>;

/** From plain text to chain and name; null takes TLS where it is offered, and `require` verifies nothing. */
const TRUST: readonly TlsSettings['ssl_mode'][] = ['disable', null, 'require', 'verify-ca', 'verify-full'];

/**
 * How sure the client is of whom it talks to: the larger, the surer. Without a mode the certificate is verified in full when there is
 * an authority to verify it with, and always over HTTP.
 */
export function trustOf({ ssl_mode, ssl_ca }: Pick<TlsSettings, 'ssl_mode' | 'ssl_ca'>, over_http: boolean): number {
  return TRUST.indexOf(ssl_mode ?? (over_http || ssl_ca !== null ? 'verify-full' : null));
}

export const verifiesCertificate = (settings: TlsSettings): boolean => trustOf(settings, false) >= TRUST.indexOf('verify-ca');

/** Warnings of a connection in plain text. What stays on this machine needs no encryption. */
export const plainWarnings = ({ host }: Pick<ConnectionSettings, 'host'>): string[] =>
  /^(localhost|127(\.\d+){3}|\[?::1\]?)$/i.test(host ?? '') ? [] : ['The connection is not encrypted.'];

export function tlsOptions(settings: TlsSettings): tls.ConnectionOptions {
  const { ssl_mode, ssl_ca, ssl_cert, ssl_key } = settings;
  const host = (settings.host ?? '').replace(/^\[(.*)\]$/, '$1');
  return {
    // RFC 6066 section 3: an address is no server name; it is compared with the addresses of the certificate instead.
    ...(net.isIP(host) ? { host } : { host, servername: host }),
    ...(ssl_ca === null ? {} : { ca: ssl_ca }),
    ...(ssl_cert === null ? {} : { cert: ssl_cert }),
    ...(ssl_key === null ? {} : { key: ssl_key }),
    rejectUnauthorized: verifiesCertificate(settings),
    ...(ssl_mode === 'verify-ca' ? { checkServerIdentity: () => undefined } : {}),
    minVersion: 'TLSv1.2',
  };
}

/** Encrypts a dialled socket as the connection asks for. Rejects with `database_unreachable`, reason `tls_failed`. */
export function secureSocket(socket: net.Socket, settings: TlsSettings, signal: AbortSignal): Promise<tls.TLSSocket> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      signal.removeEventListener('abort', abort);
      socket.destroy();
      reject(error);
    };
    const abort = () => fail(signal.reason);
    const failed = (cause?: unknown) => fail(tlsFailed(settings, cause));
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    let secured: tls.TLSSocket;
    try {
      secured = tls.connect({ ...tlsOptions(settings), socket });
    } catch (error) {
      failed(error);
      return;
    }
    // Errors may come between this handshake and the listeners of whoever takes the socket (TLS 1.3 refuses a client then).
    secured.on('error', () => {});
    secured.once('error', failed);
    secured.once('close', failed);
    secured.once('secureConnect', () => {
      signal.removeEventListener('abort', abort);
      secured.removeListener('error', failed);
      secured.removeListener('close', failed);
      resolve(secured);
    });
  });
}

function tlsFailed({ host, ssl_mode, ssl_cert }: TlsSettings, cause: unknown): AppError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const detail =
    code === 'ERR_TLS_CERT_ALTNAME_INVALID'
      ? `The certificate of the server is not for the name ${host}; check the host, or set ssl_mode to verify-ca.`
      : /CERT|SIGNATURE/.test(code) && ssl_mode !== 'require'
        ? 'The certificate of the server is not signed by a trusted authority; put its certificate authority into ssl_ca, or set ssl_mode to require.'
        : `The encrypted connection to ${host} could not be set up; check ssl_mode${ssl_cert === null ? '' : ', ssl_cert and ssl_key'}.`;
  return new AppError('database_unreachable', detail, { reason: 'tls_failed', cause });
}

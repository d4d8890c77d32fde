import net from 'node:net';
import tls from 'node:tls';
import { AppError } from '#core/errors.ts';
import type { ConnectionSettings } from './connection-settings.ts';
import { hostsOf } from './hosts/host-list.ts';

type TlsSettings = Pick<ConnectionSettings, 'host' | 'ssl_mode' | 'ssl_ca' | 'ssl_cert' | 'ssl_key'>;

/** From plain text to full verification. Null uses TLS when the server offers it; `require` verifies nothing. */
const TRUST: readonly TlsSettings['ssl_mode'][] = ['disable', null, 'require', 'verify-ca', 'verify-full'];

/**
 * How strictly the server's identity is verified; higher is stricter. Without a mode the certificate is fully verified when there
 * is a CA to verify it with, and always over HTTP.
 */
export function trustOf({ ssl_mode, ssl_ca }: Pick<TlsSettings, 'ssl_mode' | 'ssl_ca'>, over_http: boolean): number {
  return TRUST.indexOf(ssl_mode ?? (over_http || ssl_ca !== null ? 'verify-full' : null));
}

export const verifiesCertificate = (settings: TlsSettings): boolean => trustOf(settings, false) >= TRUST.indexOf('verify-ca');

/** Warnings for an unencrypted connection. Connections within this machine need no encryption. */
export const plainWarnings = ({ host }: Pick<ConnectionSettings, 'host'>): string[] =>
  hostsOf({ host, port: null }).every((one) => /^(localhost|127(\.\d+){3}|\[?::1\]?)$/i.test(one.host))
    ? []
    : ['The connection is not encrypted.'];

function tlsOptions(settings: TlsSettings): tls.ConnectionOptions {
  const { ssl_mode, ssl_ca, ssl_cert, ssl_key } = settings;
  const host = (settings.host ?? '').replace(/^\[(.*)\]$/, '$1');
  return {
    // RFC 6066 section 3: an address is not a server name. It is compared with the addresses in the certificate instead.
    ...(net.isIP(host) ? { host } : { host, servername: host }),
    ...(ssl_ca === null ? {} : { ca: ssl_ca }),
    ...(ssl_cert === null ? {} : { cert: ssl_cert }),
    ...(ssl_key === null ? {} : { key: ssl_key }),
    rejectUnauthorized: verifiesCertificate(settings),
    ...(ssl_mode === 'verify-ca' ? { checkServerIdentity: () => undefined } : {}),
    minVersion: 'TLSv1.2',
  };
}

/** Encrypts a dialled socket with the connection's settings. Rejects with `database_unreachable`, reason `tls_failed`. */
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
    // An error may arrive before the new owner adds its listeners (TLS 1.3 rejects a client certificate after the handshake).
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

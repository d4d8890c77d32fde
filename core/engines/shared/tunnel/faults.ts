import { AppError, type ErrorCode } from '#core/errors.ts';

/** Which SSH server of a tunnel, and its field in the connection, such as `ssh.jump.0`. */
export interface HopName {
  readonly host: string;
  readonly port: number;
  readonly field: string;
}

type TunnelCode = Extract<ErrorCode, `tunnel_${string}`>;

interface FaultOptions {
  readonly reason?: string;
  readonly cause?: unknown;
}

/** An error of a tunnel at the field of the SSH server that can correct it. */
export function tunnelFault(
  code: TunnelCode,
  field: string,
  detail: string,
  { reason = code, cause }: FaultOptions = {},
): AppError {
  return new AppError(code, detail, { reason, cause, errors: [{ field, message: detail }] });
}

export const named = ({ host, port }: Pick<HopName, 'host' | 'port'>): string => `${host}, port ${port}`;

/** The key of an SSH server is not the stored one, or none is stored. */
export class HostKeyFault extends AppError {
  readonly fingerprint: string;
  readonly field: string;

  constructor(hop: HopName, fingerprint: string, stored: string | null) {
    const field = `${hop.field}.host_key`;
    const detail =
      stored === null
        ? `The SSH server at ${named(hop)} presents the key ${fingerprint}. Compare it with ssh-keygen -lf on that server, then store it as ${field}.`
        : `The SSH server at ${named(hop)} presents the key ${fingerprint}, and ${field} is ${stored}. Another server may be answering. If the key was replaced, store the new fingerprint.`;
    super('tunnel_host_key', detail, { reason: 'tunnel_host_key', errors: [{ field, message: detail }] });
    this.fingerprint = fingerprint;
    this.field = field;
  }
}

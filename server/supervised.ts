/** Messages between the server and the program that runs it with role `all`. */

/** The port once it listens, or that a signal arrived. */
export type FromServer = { readonly port: number } | { readonly signalled: true };

/** `/readyz` answers 503 from now on; with `stop` the server ends. */
export interface ToServer {
  readonly stop: boolean;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

export const isFromServer = (value: unknown): value is FromServer =>
  isObject(value) && (('port' in value && typeof value.port === 'number') || 'signalled' in value);

export const isToServer = (value: unknown): value is ToServer =>
  isObject(value) && 'stop' in value && typeof value.stop === 'boolean';

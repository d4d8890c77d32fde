import { hostName, isLoopbackName } from '#core/edge/origins.ts';
import { type Env, httpsOrigin } from '#core/process/env.ts';
import type { Settings } from './settings.ts';

type Where = Pick<Settings, 'ssl_enabled' | 'ui_domain'>;

/**
 * The authorization server's identifier (RFC 8414 section 2): the origin at which people and clients reach the server, without a path
 * or a final slash. The one that is https counts first: SVC_PUBLIC_URL, else the UI domain. Without either it is this machine.
 */
export function issuerFrom(env: Env, { ssl_enabled, ui_domain }: Where): string {
  const { SVC_PUBLIC_URL, SVC_PORT } = env;
  const domain = ssl_enabled && ui_domain !== null ? httpsOrigin(env, ui_domain) : null;
  const stated = SVC_PUBLIC_URL === null ? null : new URL(SVC_PUBLIC_URL).origin;
  if (stated?.startsWith('https:')) return stated;
  return domain ?? stated ?? `http://localhost:${SVC_PORT}`;
}

/** Why people cannot sign in from MCP clients, as a sentence: codes and tokens would travel in the open. Null when they can. */
export function signInFault(env: Env, settings: Where & Pick<Settings, 'auth_type'>): string | null {
  if (settings.auth_type !== 'oauth') return null;
  const { protocol, host } = new URL(issuerFrom(env, settings));
  if (protocol === 'https:' || isLoopbackName(hostName(host) ?? '')) return null;
  return 'auth_type oauth needs HTTPS: SVC_PUBLIC_URL is a plain http address that is not on this machine. Set it to an https address, or turn on ssl_enabled with a ui_domain.';
}

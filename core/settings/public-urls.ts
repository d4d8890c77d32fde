import type { Platform } from '#core/platform/platform.ts';
import { type Settings, readSettings } from './settings.ts';
import { type Env, httpsOrigin } from '#core/process/env.ts';
import { hostName, isLoopbackName } from '#core/edge/origins.ts';

export const domainsOf = ({ ui_domain, mcp_domain }: Pick<Settings, 'ui_domain' | 'mcp_domain'>): string[] => [
  ...new Set([ui_domain, mcp_domain].filter((name) => name !== null)),
];

/** The current identifier of the authorization server. */
export const issuerOf = async (app: Platform): Promise<string> => issuerFrom(app.env, (await readSettings(app)).settings);

type Where = Pick<Settings, 'ssl_enabled' | 'ui_domain'>;

/**
 * The identifier of the authorization server (RFC 8414 section 2): the origin of this server, without a path or trailing slash.
 * An https origin is preferred: SVC_PUBLIC_URL, otherwise the UI domain. Without either, it is an address on this machine.
 */
export function issuerFrom(env: Env, { ssl_enabled, ui_domain }: Where): string {
  const { SVC_PUBLIC_URL, SVC_PORT } = env;
  const domain = ssl_enabled && ui_domain !== null ? httpsOrigin(env, ui_domain) : null;
  const stated = SVC_PUBLIC_URL === null ? null : new URL(SVC_PUBLIC_URL).origin;
  if (stated?.startsWith('https:')) return stated;
  return domain ?? stated ?? `http://localhost:${SVC_PORT}`;
}

/** Why people cannot sign in from MCP clients: codes and tokens would be sent unencrypted. Null when they can. */
export function signInFault(env: Env, settings: Where & Pick<Settings, 'auth_type'>): string | null {
  if (settings.auth_type !== 'oauth') return null;
  const { protocol, host } = new URL(issuerFrom(env, settings));
  if (protocol === 'https:' || isLoopbackName(hostName(host) ?? '')) return null;
  return 'auth_type oauth needs HTTPS: SVC_PUBLIC_URL is a plain http address that is not on this machine. Set it to an https address, or turn on ssl_enabled with a ui_domain.';
}

/** The URL of the MCP server: from the environment, with the domain that the front port proxies, or with the host's port. */
export async function mcpUrl(app: Platform, port: number): Promise<string> {
  const { SVC_MCP_PUBLIC_URL, SVC_PUBLIC_URL } = app.env;
  const { ssl_enabled, mcp_proxy, mcp_domain, ui_domain } = (await readSettings(app)).settings;
  const domain = mcp_domain ?? ui_domain;
  const front = ssl_enabled && domain !== null ? httpsOrigin(app.env, domain) : SVC_PUBLIC_URL;
  return `${SVC_MCP_PUBLIC_URL ?? (mcp_proxy ? front : null) ?? `http://127.0.0.1:${port}`}/mcp`;
}

/**
 * The URL of this server for browsers: from the environment, with its domain, or its port on this machine. Never from a Host
 * header.
 */
export async function uiUrl(app: Platform): Promise<string> {
  return ((await publicUrl(app)) ?? `http://127.0.0.1:${app.env.SVC_PORT}`).replace(/\/$/, '');
}

/** The public URL of this server without a trailing slash. Null when it is not configured. */
export async function publicUrl(app: Platform): Promise<string | null> {
  if (app.env.SVC_PUBLIC_URL !== null) return app.env.SVC_PUBLIC_URL;
  const { ssl_enabled, ui_domain } = (await readSettings(app)).settings;
  return ssl_enabled && ui_domain !== null ? httpsOrigin(app.env, ui_domain) : null;
}

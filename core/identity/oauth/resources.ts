import type { App } from '#core/app.ts';
import { readSettings } from '#core/definitions/settings/settings.ts';
import { mcpUrl } from '#core/deploy/server.ts';
import { createAddresses } from '#core/edge/asked-address.ts';
import { acceptedHostNames, isLoopbackName } from '#core/edge/origins.ts';
import { issuerOf } from './issuer.ts';

/** What a token is for: one address, as the client asked for it. */
export interface Resource {
  readonly url: string;
  readonly kind: 'mcp' | 'agent';
  /** Below the origin: `/mcp`, `/mcp/<toolset>`, `/agent-mcp`. */
  readonly path: string;
}

const PATHS = /^(https?:\/\/[^/]+.*?)(\/agent-mcp(?:\/mcp)?|\/mcp(?:\/[a-z0-9_-]{1,64}){0,2})$/;

/**
 * The resource that an address names (RFC 8707), with or without slashes at its end; null when it is none of ours.
 * @param asked null: `/mcp`.
 */
export async function resourceOf(app: App, asked: string | null): Promise<Resource | null> {
  const { settings } = await readSettings(app);
  if (asked === null) return { url: await mcpUrl(app, settings.port), kind: 'mcp', path: '/mcp' };
  const url = asked.replace(/\/+$/, '');
  const path = PATHS.exec(url)?.[2];
  if (path === undefined) return null;
  const { SVC_MCP_PUBLIC_URL, SVC_PUBLIC_URL } = app.env;
  const names = acceptedHostNames(app.env, []);
  const { ui_domain, mcp_domain } = settings;
  const issuer = await issuerOf(app);
  const addresses = createAddresses({
    path,
    public_urls: [SVC_MCP_PUBLIC_URL, SVC_PUBLIC_URL].filter((known) => known !== null),
    names: () => new Set([...names, ...[ui_domain, mcp_domain].filter((name) => name !== null)]),
    otherwise: () => issuer,
  });
  if (!addresses.include(url)) return null;
  return { url, kind: path.startsWith('/agent-mcp') ? 'agent' : 'mcp', path };
}

/**
 * Why nobody can sign in from MCP clients here, as a sentence; null when they can. Codes and tokens in the clear are anybody's
 * (RFC 9700 section 2.6).
 */
export function signInRefusal(issuer: string): string | null {
  const { protocol, host, hostname, port } = new URL(issuer);
  if (port === '0') return 'MCP clients cannot sign in while the address of this server is not known. Set SVC_PUBLIC_URL.';
  if (protocol === 'https:' || isLoopbackName(hostname)) return null;
  return `MCP clients cannot sign in at http://${host}: sign-in needs HTTPS. Set SVC_PUBLIC_URL to an https address, or turn on HTTPS in the settings.`;
}

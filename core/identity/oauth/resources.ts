import type { Platform } from '#core/platform/platform.ts';
import { readSettings } from '#core/settings/settings.ts';
import { mcpUrl, issuerOf } from '#core/settings/public-urls.ts';
import { createAddresses, withoutEndSlashes } from '#core/edge/requested-address.ts';
import { endpointOf, SSE_PATH } from '#core/edge/mcp-endpoint.ts';
import { acceptedHostNames, installationPorts } from '#core/edge/accepted-names.ts';
import { isLoopbackName } from '#core/edge/origins.ts';

/** The address that a token is valid for, as the client requested it. */
export interface Resource {
  readonly url: string;
  readonly kind: 'mcp' | 'agent';
  /** The path: `/mcp`, `/mcp/<toolset>` or `/agent-mcp`. */
  readonly path: string;
}

const AGENT_PATHS = ['/agent-mcp', '/agent-mcp/mcp'];

/**
 * The resource that an address names (RFC 8707), with or without trailing slashes; null when it is not a resource of this server.
 * @param requested null for `/mcp`.
 */
export async function resourceOf(app: Platform, requested: string | null): Promise<Resource | null> {
  const { settings } = await readSettings(app);
  if (requested === null) return { url: await mcpUrl(app, settings.port), kind: 'mcp', path: '/mcp' };
  const url = withoutEndSlashes(requested);
  const { SVC_MCP_PUBLIC_URL, SVC_PUBLIC_URL } = app.env;
  const names = acceptedHostNames(app.env, []);
  const { ui_domain, mcp_domain } = settings;
  const issuer = await issuerOf(app);
  const options = {
    public_urls: [SVC_MCP_PUBLIC_URL, SVC_PUBLIC_URL].filter((known) => known !== null),
    names: () => new Set([...names, ...[ui_domain, mcp_domain].filter((name) => name !== null)]),
    installation_ports: () => new Set([...installationPorts(app.env), settings.port]),
    otherwise: () => issuer,
  };
  const agent_path = AGENT_PATHS.find((path) => createAddresses({ ...options, path }).include(url));
  if (agent_path !== undefined) return { url, kind: 'agent', path: agent_path };
  // The same rules as on hosts, so that clients can sign in to every address that hosts serve.
  const aliases = settings.transport === 'sse' ? [SSE_PATH] : [];
  const below = (rest: string): boolean => endpointOf(rest) !== null;
  const rest = createAddresses({ ...options, path: '/mcp', aliases, below }).restOf(url);
  const endpoint = rest === null ? null : endpointOf(rest);
  return endpoint && { url, kind: 'mcp', path: `/mcp${endpoint.path}` };
}

/**
 * Why MCP clients cannot sign in, as a sentence; null when they can. Codes and tokens require an encrypted connection (RFC 9700
 * section 2.6).
 */
export function signInRefusal(issuer: string): string | null {
  const { protocol, host, hostname, port } = new URL(issuer);
  if (port === '0') return 'MCP clients cannot sign in while the address of this server is not known. Set SVC_PUBLIC_URL.';
  if (protocol === 'https:' || isLoopbackName(hostname)) return null;
  return `MCP clients cannot sign in at http://${host}: sign-in needs HTTPS. Set SVC_PUBLIC_URL to an https address, or turn on HTTPS in the settings.`;
}

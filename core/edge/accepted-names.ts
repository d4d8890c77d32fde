import type { Env } from '#core/process/env.ts';

/** Ports at which the programs of this installation are reached, as far as the environment says. */
export function ownPorts(env: Env): ReadonlySet<number> {
  const { SVC_PORT, SVC_SSL_PORT, SVC_EXTERNAL_HTTPS_PORT, SVC_FASTMCP_PORT, SVC_AGENT_MCP_PORT } = env;
  return new Set([SVC_PORT, SVC_SSL_PORT, SVC_EXTERNAL_HTTPS_PORT, SVC_FASTMCP_PORT, SVC_AGENT_MCP_PORT]);
}

/**
 * Names under which this installation says that it is reached, for the Host header (contract section 0); in lower case.
 * @param more addresses by which one program is reached by the others.
 */
export function acceptedHostNames(env: Env, more: readonly (string | null)[] = []): ReadonlySet<string> {
  const urls = [env.SVC_PUBLIC_URL, env.SVC_MCP_PUBLIC_URL, ...more].filter((url) => url !== null);
  const names = [...urls.map((url) => new URL(url).hostname), env.SVC_FASTMCP_HOST, ...env.SVC_ALLOWED_HOSTS];
  return new Set(names.map((name) => name.toLowerCase()));
}

import type { Env } from '#core/process/env.ts';

/** Ports of this installation's programs, as set in the environment. */
export function installationPorts(env: Env): ReadonlySet<number> {
  const { SVC_PORT, SVC_SSL_PORT, SVC_EXTERNAL_HTTPS_PORT, SVC_FASTMCP_PORT, SVC_AGENT_MCP_PORT } = env;
  return new Set([SVC_PORT, SVC_SSL_PORT, SVC_EXTERNAL_HTTPS_PORT, SVC_FASTMCP_PORT, SVC_AGENT_MCP_PORT]);
}

/**
 * Host names of this installation, in lower case, that a Host header can contain. @param more addresses at which other programs
 * reach this one.
 */
export function acceptedHostNames(env: Env, more: readonly (string | null)[] = []): ReadonlySet<string> {
  const urls = [env.SVC_PUBLIC_URL, env.SVC_MCP_PUBLIC_URL, ...more].filter((url) => url !== null);
  const names = [...urls.map((url) => new URL(url).hostname), env.SVC_FASTMCP_HOST, ...env.SVC_ALLOWED_HOSTS];
  return new Set(names.map((name) => name.toLowerCase()));
}

import type { Env } from '#core/env.ts';

/**
 * Names under which this installation says that it is reached, for the Host header (contract section 0); in lower case.
 * @param more addresses by which one program is reached by the others.
 */
export function acceptedHostNames(env: Env, more: readonly (string | null)[] = []): ReadonlySet<string> {
  const urls = [env.SVC_PUBLIC_URL, env.SVC_MCP_PUBLIC_URL, ...more].filter((url) => url !== null);
  const names = [...urls.map((url) => new URL(url).hostname), env.SVC_FASTMCP_HOST, ...env.SVC_ALLOWED_HOSTS];
  return new Set(names.map((name) => name.toLowerCase()));
}

import { isToolsetName } from '#core/contract/definitions/toolsets.ts';
import { LOCAL } from '#mcp-host/auth/caller.ts';
import { type Endpoint, endpointOf, WHOLE } from '#core/edge/mcp-endpoint.ts';
import type { Registry } from '#mcp-host/registry/registry.ts';
import type { Views } from '#mcp-host/registry/views.ts';
import type { CurrentView } from './bridge.ts';

const USAGE = 'Usage: stdio [--toolset NAME]';

/** The endpoint that the arguments of the program select. Throws `UsageError` with a sentence for the user. */
export function endpointOfArguments(args: readonly string[]): Endpoint {
  const [option, value, ...rest] = args.flatMap((arg) => (arg.startsWith('--toolset=') ? ['--toolset', arg.slice(10)] : [arg]));
  if (option === undefined) return WHOLE;
  if (option !== '--toolset' || value === undefined || rest.length > 0) throw new UsageError(USAGE);
  const endpoint = isToolsetName(value) ? endpointOf(`/${value}`) : null;
  if (endpoint === null) throw new UsageError(`--toolset must be the name of a toolset, such as sales. ${USAGE}`);
  return endpoint;
}

export class UsageError extends Error {}

/** The view of the peer on this machine at an endpoint, or why nothing is served. */
export const servingAt =
  (serving: CurrentView, views: Views, endpoint: Endpoint): CurrentView =>
  () => {
    const registry = serving();
    if ('idle' in registry) return registry;
    return views.of(registry, { rights: LOCAL.rights, endpoint }) ?? { idle: missingToolset(registry, endpoint) };
  };

function missingToolset({ snapshot_version, toolsets }: Registry, { toolset }: Endpoint): string {
  const names = [...toolsets.keys()].sort();
  const choice = names.length === 0 ? 'Deploy it first.' : `Deploy it, or use one of these: ${names.join(', ')}.`;
  return `Version ${snapshot_version} has no toolset ${String(toolset)}. ${choice}`;
}

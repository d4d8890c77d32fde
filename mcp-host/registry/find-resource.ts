import { matchUri, normalUri, typedValues } from '#core/lib/uri-template.ts';
import type { Members } from '#mcp-host/protocol/messages.ts';
import type { Registry, ResourceEntry } from './registry.ts';

export function findResource(
  { resources, templates }: Registry,
  uri: string,
): { resource: ResourceEntry; values: Members } | null {
  const address = normalUri(uri);
  const resource = resources.get(address);
  if (resource !== undefined) return { resource, values: {} };
  for (const candidate of templates) {
    const values = matchUri(candidate.template, address);
    if (values !== null) return { resource: candidate, values: typedValues(values, candidate.entity.parameters) };
  }
  return null;
}

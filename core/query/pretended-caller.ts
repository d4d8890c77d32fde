import type { PretendedCaller } from '#core/contract/definitions/pretended-caller.ts';
import type { Claims } from './identity.ts';
import type { CallFacts } from './value-sources.ts';

export function toCaller({ claims, ...identity }: PretendedCaller): CallFacts['caller'] {
  // The claims were parsed from JSON.
  return { identity, claims: claims as Claims };
}

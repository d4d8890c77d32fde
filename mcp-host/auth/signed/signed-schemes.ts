import type { Addresses } from '#core/edge/requested-address.ts';
import { EVERYTHING } from '#core/edge/identity.ts';
import type { IdentityList } from '#core/contract/deploy/control.ts';
import type { SavedCopies } from '#core/lib/saved-copies.ts';
import type { Log } from '#core/process/log.ts';
import { endpointOf } from '#core/edge/mcp-endpoint.ts';
import type { Ask } from '../introspection.ts';
import { type ListFile, noListFile } from '../list-file.ts';
import type { ToolsetAccess } from '../rights.ts';
import type { Scheme } from '../scheme.ts';
import { createForeignKeys, type ForeignKeys, type ForeignKeySets } from './foreign-keys.ts';
import { createForeign } from './foreign.ts';
import { createIdentityState, type IdentityState } from './identity-state.ts';
import { createPeople } from './people.ts';
import { createSignedScheme } from './signed-scheme.ts';

/** Files with the keys that verify signed tokens; absent: nothing is stored. */
export interface SignedFiles {
  /** Public keys and ended grants of the installation's server. */
  readonly identity?: ListFile<IdentityList>;
  /** Keys of other issuers. */
  readonly foreign_keys?: ListFile<ForeignKeySets>;
}

interface SignedOptions extends SignedFiles {
  readonly ask: Ask;
  readonly copies: Pick<SavedCopies, 'save' | 'note'>;
  readonly addresses: Addresses;
  /** The same array until other toolsets are deployed. */
  readonly toolsets: () => readonly ToolsetAccess[];
  readonly log: Log;
  readonly now: () => number;
  readonly ticks: () => number;
}

/** `auth_type` oauth and jwt: tokens that this host verifies without another program. */
export interface SignedSchemes {
  readonly people: Scheme;
  readonly foreign: Scheme;
  readonly identity: IdentityState;
  readonly foreign_keys: ForeignKeys;
}

export function createSignedSchemes(options: SignedOptions): SignedSchemes {
  const { ask, copies, addresses, toolsets, log, now, ticks } = options;
  const identity = createIdentityState(options.identity ?? noListFile(), copies, log);
  const foreign_keys = createForeignKeys({ ask, file: options.foreign_keys ?? noListFile(), copies, log, ticks });
  /** The scopes that a client requests for an endpoint: its only toolset, or `otherwise` at an endpoint with several. */
  const scopes =
    (otherwise: () => readonly string[]) =>
    (_: unknown, path: string): readonly string[] => {
      const name = endpointOf(path)?.toolset ?? null;
      return name === null ? otherwise() : [name];
    };
  /** Another server grants scopes by name. Toolsets for groups stay out of the list, because their names are not public. */
  const forEveryone = () => toolsets().flatMap((one) => (one.groups.length === 0 ? [one.name] : []));
  return {
    identity,
    foreign_keys,
    people: {
      ...createSignedScheme(createPeople(identity, addresses), { now, log, toolsets }),
      issuers: () => [identity.issuer()].filter((issuer) => issuer !== null),
      // The consent page lists what is open to the person. With toolsets by name, a client would not get the toolsets of the
      // person's groups.
      scopes: scopes(() => [EVERYTHING]),
    },
    foreign: {
      ...createSignedScheme(createForeign(foreign_keys), { now, log, toolsets }),
      issuers: ({ jwt_issuers = [] }) => jwt_issuers.map(({ issuer }) => issuer),
      scopes: scopes(forEveryone),
    },
  };
}

import * as v from 'valibot';
import { type IdentityProvider, IdentityProviderDraft, ProvidedRole } from '#core/contract/identity/identity-providers.ts';
import { field, marksOf } from '#core/contract/marks.ts';

const GroupRole = v.object({
  group: field(v.string(), { label: 'Group' }),
  role: field(ProvidedRole, { label: 'Role', choices: marksOf(IdentityProviderDraft.entries.default_role)?.choices ?? {} }),
});
/** A line of the form. One without a group counts for nothing. */
export type GroupRole = v.InferOutput<typeof GroupRole>;

const namesOf = (lines: readonly GroupRole[]): string[] => lines.map(({ group }) => group.trim()).filter((name) => name !== '');
const twiceIn = (lines: readonly GroupRole[]): string | undefined =>
  namesOf(lines).find((name, index, names) => names.indexOf(name) < index);

export const rolesOf = (lines: readonly GroupRole[]): IdentityProviderDraft['role_by_group'] =>
  Object.fromEntries(lines.map(({ group, role }) => [group.trim(), role] as const).filter(([group]) => group !== ''));

/** As the form holds it: a group of a record could stand in it only once while its name is typed. */
export const ProviderFields = v.strictObject({
  ...IdentityProviderDraft.entries,
  role_by_group: field(
    v.pipe(
      v.array(GroupRole),
      v.check(
        (lines) => twiceIn(lines) === undefined,
        ({ input }) => `must have the group ${twiceIn(input)} only once`,
      ),
    ),
    { label: 'Roles by group' },
  ),
});

export interface ProviderDraft extends Omit<IdentityProviderDraft, 'role_by_group'>, Record<string, unknown> {
  role_by_group: readonly GroupRole[];
}

export const NEW: ProviderDraft = {
  name: '',
  issuer: '',
  client_id: '',
  client_secret: null,
  scopes: ['openid', 'email', 'profile'],
  groups_claim: null,
  allowed_domains: [],
  create_people: false,
  default_role: 'caller',
  role_by_group: [],
  accept_assertions: false,
  assertion_clients: [],
  assertion_algorithms: [],
  enabled: true,
};

export const draftOf = ({ name, issuer, client_id, scopes, groups_claim, ...rest }: IdentityProvider): ProviderDraft => ({
  name,
  issuer,
  client_id,
  client_secret: rest.client_secret ?? null,
  scopes,
  groups_claim,
  allowed_domains: rest.allowed_domains,
  create_people: rest.create_people,
  default_role: rest.default_role,
  role_by_group: Object.entries(rest.role_by_group).map(([group, role]) => ({ group, role })),
  accept_assertions: rest.accept_assertions,
  assertion_clients: rest.assertion_clients,
  assertion_algorithms: rest.assertion_algorithms,
  enabled: rest.enabled,
});

/** What is sent: an empty secret keeps the stored one. */
export const toInput = ({ client_secret, role_by_group, ...fields }: ProviderDraft) => ({
  ...fields,
  ...(client_secret ? { client_secret } : {}),
  role_by_group: rolesOf(role_by_group),
});

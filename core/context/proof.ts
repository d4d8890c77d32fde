import type { Platform } from '#core/platform/platform.ts';
import { eq } from 'drizzle-orm';
import { DEPLOY_GATES, type GateMode, GATE_NAMES } from '#core/contract/settings/deploy-gates.ts';
import type { IdentityProviderDraft } from '#core/contract/identity/identity-providers.ts';
import { holds, type Role } from '#core/contract/roles.ts';
import { AppError, type FieldError } from '#core/errors.ts';
import type { Mask } from '#core/contract/definitions/masks.ts';
import type { MaskRule } from '#core/query/masks.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import { readSettings, type Settings } from '#core/settings/settings.ts';
import type { Context, ProposalRun } from './context.ts';

// Changes that a stolen session must not be enough for: the person proves again who they are. The setting `approvals` makes them
// need a second person too, so that one stolen account is not enough either.

/** How long a sign-in, or a proof, counts. An older one does not show that the same person is still at the computer. */
export const PROOF_MS = 600_000;

const PROVE =
  'Confirm that it is you with your password or a code of your second factor (POST /api/v1/auth/prove), or sign in again; then repeat the request.';

const PROPOSE =
  'This server asks for two people (approvals): repeat the request with the header X-Proposal-Note, which says why. It becomes a proposal that another administrator approves.';
const BY_AUTHOR = 'You proposed this yourself. Another administrator has to approve it (approvals).';

type Acting = Pick<Context<Platform>, 'app' | 'actor' | 'proposal_run'>;

/**
 * Throws `proof_required` for dangerous changes of a person whose last sign-in or proof is too long ago, and `approval_required` for
 * those that another person has not approved. Tokens are refused such changes altogether. The command line has the database itself.
 */
export async function requireProof(context: Acting, dangers: readonly FieldError[]): Promise<void> {
  const { app, actor, proposal_run } = context;
  if (dangers.length === 0 || actor === null || actor.type === 'system' || proposal_run?.is_trial === true) return;
  if (actor.session_id !== undefined) await requireRecentProof(app, actor.session_id, dangers);
  const { approvals } = (await readSettings(app)).settings;
  if (approvals === 0 || isApproved(proposal_run, actor.id)) return;
  const how = proposal_run === undefined ? PROPOSE : BY_AUTHOR;
  throw new AppError('approval_required', `${sentencesOf(dangers)} ${how}`, { errors: dangers });
}

const isApproved = (run: ProposalRun | undefined, approver: string | null): boolean =>
  run !== undefined && run.person !== approver;

const sentencesOf = (dangers: readonly FieldError[]): string => dangers.map(({ message }) => message).join(' ');

async function requireRecentProof(app: Platform, session_id: string, dangers: readonly FieldError[]): Promise<void> {
  const { sessions } = app.store.tables;
  const [session] = await app.store.db
    .select({ created_at: sessions.created_at, proved_at: sessions.proved_at })
    .from(sessions)
    .where(eq(sessions.id, session_id));
  const last = Math.max(...[session?.created_at, session?.proved_at].map((at) => (at == null ? 0 : Date.parse(at))));
  // A time in the future was stored before the clock was set back.
  if (Math.abs(app.clock().getTime() - last) <= PROOF_MS) return;
  throw new AppError('proof_required', `${sentencesOf(dangers)} ${PROVE}`, { errors: dangers });
}

const STRENGTH: Readonly<Record<FrozenServer['auth_type'], number>> = {
  none: 0,
  bearer: 1,
  oauth_credentials: 1,
  oauth_introspection: 2,
  jwt: 2,
  oauth: 2,
};
const GATE_STRENGTH: Readonly<Record<GateMode, number>> = { off: 0, warn: 1, block: 2 };

type Authentication = Pick<FrozenServer, 'auth_type' | 'introspection_url'> & Partial<Pick<FrozenServer, 'jwt_issuers'>>;

/** What of the authentication of MCP clients a change weakens. */
export function authenticationDangers(before: Authentication, after: Authentication): FieldError[] {
  const found: FieldError[] = [];
  if (STRENGTH[after.auth_type] < STRENGTH[before.auth_type]) {
    const what = after.auth_type === 'none' ? 'turned off' : 'weakened';
    found.push({ field: 'auth_type', message: `Authentication of MCP clients is ${what} (auth_type).` });
  }
  const known = new Set((before.jwt_issuers ?? []).map((issuer) => canonical(issuer)));
  if ((after.jwt_issuers ?? []).some((issuer) => !known.has(canonical(issuer)))) {
    found.push({ field: 'jwt_issuers', message: 'Tokens of other issuers become valid (jwt_issuers).' });
  }
  if (after.introspection_url !== null && after.introspection_url !== before.introspection_url) {
    found.push({ field: 'introspection_url', message: 'Another server decides which tokens are valid (introspection_url).' });
  }
  return found;
}

export function settingDangers(before: Settings, after: Settings): FieldError[] {
  const gates = GATE_NAMES.filter((name) => GATE_STRENGTH[after.deploy_gates[name]] < GATE_STRENGTH[before.deploy_gates[name]]);
  const password_again = after.password_sign_in && !before.password_sign_in;
  return [
    ...authenticationDangers(before, after),
    ...(after.approvals < before.approvals
      ? [{ field: 'approvals', message: 'Dangerous changes need one person less (approvals).' }]
      : []),
    ...(password_again
      ? [{ field: 'password_sign_in', message: 'People can sign in with passwords again (password_sign_in).' }]
      : []),
    ...gates.map((name) => ({
      field: `deploy_gates.${name}`,
      message: `The deploy gate ${DEPLOY_GATES[name].label} becomes weaker (deploy_gates.${name}).`,
    })),
  ];
}

/** A definition, stored or frozen. */
export interface Masked {
  readonly name?: string;
  readonly masks?: readonly (Mask | MaskRule)[];
}

const columnOf = (mask: Mask | MaskRule): string | undefined => ('column' in mask ? mask.column : mask.columns[0])?.toLowerCase();

/** Whether a masked column becomes visible, or visible to more groups. */
export function isUnmasked(before: Masked | null, { masks = [] }: Masked): boolean {
  const after = new Map(masks.map((mask) => [columnOf(mask), mask]));
  return (before?.masks ?? []).some((mask) => {
    const same = after.get(columnOf(mask));
    return same?.mask !== mask.mask || !same.unless_groups.every((group) => mask.unless_groups.includes(group));
  });
}

export const maskDangers = (before: Masked | null, after: Masked): FieldError[] =>
  isUnmasked(before, after)
    ? [{ field: 'masks', message: `Masks of ${after.name ?? before?.name ?? 'a definition'} are removed or weakened.` }]
    : [];

/** Administrators count like owners: the first one could create a second one who approves. */
export const roleDangers = (username: string, before: Role | null, after: Role | undefined): FieldError[] => {
  if (after === undefined || !holds(after, 'admin') || (before !== null && holds(before, after))) return [];
  return [{ field: 'role', message: `${username} becomes ${after === 'owner' ? 'an owner' : 'an administrator'}.` }];
};

type GivesRoles = Pick<IdentityProviderDraft, 'name' | 'issuer' | 'enabled' | 'groups_claim' | 'default_role' | 'role_by_group'>;

/** Who of the people of an identity provider becomes an administrator by a change of the provider. */
export function providerDangers(before: GivesRoles | null, after: GivesRoles): FieldError[] {
  if (!after.enabled) return [];
  const same_people = before?.enabled === true && before.issuer === after.issuer && before.groups_claim === after.groups_claim;
  const known = same_people ? before : null;
  const groups = Object.keys(after.role_by_group).filter((group) => after.role_by_group[group] === 'admin');
  const added = groups.filter((group) => known?.role_by_group[group] !== 'admin');
  const all = after.default_role === 'admin' && known?.default_role !== 'admin';
  return [
    ...(all ? [{ field: 'default_role', message: `Everybody of ${after.name} becomes an administrator (default_role).` }] : []),
    ...added.map((group) => ({
      field: 'role_by_group',
      message: `People of the group ${group} of ${after.name} become administrators (role_by_group).`,
    })),
  ];
}

import { ASYMMETRIC_ALGORITHMS, JwtIssuer, MOST_ISSUERS } from '#core/contract/settings/jwt-issuers.ts';
import { marksOf } from '#core/contract/marks.ts';
import { TagsField } from '#ui/src/components/form/tags-field.tsx';
import { FormField } from '#ui/src/fields/form-field.tsx';
import { RowsField } from '#ui/src/fields/rows-field.tsx';
import type { Form } from '#ui/src/kernel/form/form.ts';
import { claimsOf, claimTags } from './required-claims.ts';
import type { SettingsDraft } from './settings-draft.ts';

const CLAIMS = marksOf(JwtIssuer.entries.required_claims);
const NEW_ISSUER: JwtIssuer = {
  issuer: '',
  jwks_url: null,
  audience: '',
  algorithms: [],
  scope_claim: null,
  groups_claim: 'groups',
  name_claim: 'name',
  required_claims: {},
};

/** Asymmetric algorithms only: with a shared secret, every verifier could sign tokens. */
export function algorithmsError(names: readonly string[]): string | undefined {
  const unknown = names.filter((name) => !(ASYMMETRIC_ALGORITHMS as readonly string[]).includes(name));
  if (unknown.length === 0) return undefined;
  return `Use asymmetric signature algorithms (${ASYMMETRIC_ALGORITHMS.join(', ')}) instead of ${unknown.join(', ')}.`;
}

/** The authorization servers whose tokens are accepted. */
export function Issuers(props: { form: Form<SettingsDraft> }) {
  return (
    <RowsField
      form={props.form}
      name="jwt_issuers"
      rows={props.form.values.jwt_issuers}
      noun="issuer"
      title={({ issuer }) => issuer}
      fresh={() => ({ ...NEW_ISSUER })}
      most={MOST_ISSUERS}
      draw={{
        algorithms: (row, at) => (
          <FormField form={props.form} name={`${at}.algorithms`} optional error={algorithmsError(row().algorithms)} />
        ),
        required_claims: (row, at) => (
          <TagsField
            label={CLAIMS?.label ?? ''}
            hint={CLAIMS?.help}
            optional
            value={claimTags(row().required_claims)}
            onChange={(tags) => props.form.set(`${at}.required_claims`, claimsOf(tags).value)}
            error={claimsOf(claimTags(row().required_claims)).fault ?? props.form.errorWithin(`${at}.required_claims`)}
          />
        ),
      }}
    />
  );
}

import { Index } from 'solid-js';
import { ASYMMETRIC_ALGORITHMS, type JwtIssuer, MOST_ISSUERS } from '#core/contract/settings/jwt-issuers.ts';
import { IconButton } from '#ui/src/components/button.tsx';
import { AddRow } from '#ui/src/components/form/add-row.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { TagsField } from '#ui/src/components/form/tags-field.tsx';
import type { Form } from '#ui/src/kernel/form/form.ts';
import { claimsOf, claimTags } from './required-claims.ts';
import type { SettingsDraft } from './settings-draft.ts';
import { passesFocus } from '#ui/src/components/form/passes-focus.ts';

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

/** Keys that only the issuer has: with a shared secret, whoever verifies could sign. */
function algorithmsError(names: readonly string[]): string | undefined {
  const unknown = names.filter((name) => !(ASYMMETRIC_ALGORITHMS as readonly string[]).includes(name));
  if (unknown.length === 0) return undefined;
  return `Use asymmetric signature algorithms (${ASYMMETRIC_ALGORITHMS.join(', ')}) instead of ${unknown.join(', ')}.`;
}

/** The authorization servers whose signed tokens are accepted. */
export function Issuers(props: { form: Form<SettingsDraft> }) {
  const rows = () => props.form.values.jwt_issuers;
  return (
    <div class="stack">
      <Index each={rows()}>
        {(row, index) => {
          const text = (name: keyof JwtIssuer) => props.form.text(`jwt_issuers.${index}.${name}`);
          return (
            <div class="settings-client" ref={passesFocus}>
              <TextField
                label="Issuer"
                mono
                placeholder="https://login.example.com/realms/shop"
                hint="Exactly as in the iss claim of its tokens."
                {...text('issuer')}
              />
              <TextField
                label="Audience"
                mono
                placeholder="https://mcp.example.com/mcp"
                hint="Every token must have it in aud."
                {...text('audience')}
              />
              <TagsField
                label="Algorithms"
                optional
                hint="Accepted signature algorithms, such as RS256. Leave empty to accept every asymmetric one."
                value={row().algorithms}
                onChange={(names) => props.form.set(`jwt_issuers.${index}.algorithms`, names)}
                suggestions={ASYMMETRIC_ALGORITHMS}
                error={algorithmsError(row().algorithms)}
              />
              <TextField
                label="Key set URL"
                mono
                optional
                hint="Leave empty to read it from the metadata of the issuer."
                {...text('jwks_url')}
              />
              <TextField
                label="Scope claim"
                mono
                optional
                hint="Leave empty to take the first of scope, scp and permissions."
                {...text('scope_claim')}
              />
              <TextField
                label="Groups claim"
                mono
                hint="A name, or a path such as realm_access.roles."
                {...text('groups_claim')}
              />
              <TextField label="Name claim" mono {...text('name_claim')} />
              <TagsField
                label="Required claims"
                optional
                hint="Such as tid=8f2c: the claim must have the value, or contain it in a list."
                value={claimTags(row().required_claims)}
                onChange={(tags) => props.form.set(`jwt_issuers.${index}.required_claims`, claimsOf(tags).value)}
                error={
                  claimsOf(claimTags(row().required_claims)).fault ??
                  props.form.errorWithin(`jwt_issuers.${index}.required_claims`)
                }
              />
              <div class="row settings-client-ways">
                <IconButton
                  icon="trash"
                  size="small"
                  label={`Remove ${row().issuer || 'issuer'}`}
                  onPress={() => props.form.set('jwt_issuers', rows().toSpliced(index, 1))}
                />
              </div>
            </div>
          );
        }}
      </Index>
      <AddRow
        label="Add issuer"
        error={props.form.error('jwt_issuers')}
        blocked={rows().length >= MOST_ISSUERS}
        onPress={() => props.form.set('jwt_issuers', [...rows(), { ...NEW_ISSUER }])}
      />
    </div>
  );
}

import { createSignal, Index, Show } from 'solid-js';
import { ASYMMETRIC_ALGORITHMS, type JwtIssuer, MOST_ISSUERS } from '#core/contract/settings/jwt-issuers.ts';
import { Button, IconButton } from '#ui/src/components/button.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { TagsField } from '#ui/src/components/form/tags-field.tsx';
import type { Form } from '#ui/src/kernel/form/form.ts';
import type { SettingsDraft } from './settings-draft.ts';

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

/** Claims as they are typed, such as `tid=8f2c…`. */
const toTags = (claims: JwtIssuer['required_claims']): string[] =>
  Object.entries(claims).map(([name, value]) => `${name}=${value}`);
const isClaim = (tag: string): boolean => /^[^=]+=./.test(tag);
const toClaims = (tags: readonly string[]): JwtIssuer['required_claims'] =>
  Object.fromEntries(
    tags.map((tag) => {
      const at = tag.indexOf('=');
      return [tag.slice(0, at).trim(), tag.slice(at + 1).trim()];
    }),
  );

/** Keys that only the issuer has: with a shared secret, whoever verifies could sign. */
function algorithmsError(names: readonly string[]): string | undefined {
  const unknown = names.filter((name) => !(ASYMMETRIC_ALGORITHMS as readonly string[]).includes(name));
  if (unknown.length === 0) return undefined;
  return `${unknown.join(', ')}: not an asymmetric signature algorithm. Use ${ASYMMETRIC_ALGORITHMS.join(', ')}.`;
}

/** What was typed and is no claim stays in sight, with the reason, and is not saved. */
function RequiredClaims(props: {
  value: JwtIssuer['required_claims'];
  onChange: (claims: JwtIssuer['required_claims']) => void;
  error: string | undefined;
}) {
  const [wrong, setWrong] = createSignal<readonly string[]>([]);
  return (
    <TagsField
      label="Required claims"
      optional
      hint="Such as tid=8f2c: the claim must have the value, or contain it in a list."
      value={[...toTags(props.value), ...wrong()]}
      onChange={(tags) => {
        setWrong(tags.filter((tag) => !isClaim(tag)));
        props.onChange(toClaims(tags.filter(isClaim)));
      }}
      error={wrong().length > 0 ? `${wrong().join(', ')}: write a claim as name=value. It is not saved.` : props.error}
    />
  );
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
            <div class="settings-client">
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
              <RequiredClaims
                value={row().required_claims}
                onChange={(claims) => props.form.set(`jwt_issuers.${index}.required_claims`, claims)}
                error={props.form.error(`jwt_issuers.${index}.required_claims`)}
              />
              <div class="row settings-client-ways">
                <IconButton
                  icon="trash"
                  size="small"
                  label={`Remove ${row().issuer || 'issuer'}`}
                  onPress={() =>
                    props.form.set(
                      'jwt_issuers',
                      rows().filter((_, place) => place !== index),
                    )
                  }
                />
              </div>
            </div>
          );
        }}
      </Index>
      <Show when={props.form.error('jwt_issuers')}>{(fault) => <p class="field-error">{fault()}</p>}</Show>
      <div class="row">
        <Button
          size="small"
          icon="plus"
          blocked={rows().length >= MOST_ISSUERS}
          onPress={() => props.form.set('jwt_issuers', [...rows(), { ...NEW_ISSUER }])}
        >
          Add issuer
        </Button>
      </div>
    </div>
  );
}

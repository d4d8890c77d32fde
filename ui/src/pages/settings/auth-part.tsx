import { Show } from 'solid-js';
import { isLoopback, lockedOut, MOST_CLIENTS } from '#core/contract/settings/config.ts';
import { MOST_ISSUERS } from '#core/contract/settings/jwt-issuers.ts';
import { Button } from '#ui/src/components/button.tsx';
import { CopyButton } from '#ui/src/components/show/code-block.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { ClaimsField, ToolsetsField } from '#ui/src/features/connect/token-access.tsx';
import { SecretField } from '#ui/src/fields/secret-field.tsx';
import { RowsField } from '#ui/src/fields/rows-field.tsx';
import type { Form } from '#ui/src/kernel/form/form.ts';
import type { SettingsDraft } from './settings-draft.ts';
import { Issuers } from './issuers-part.tsx';
import { TokenCheck } from './token-check.tsx';
import { type PartProps, Setting, SettingsForm, SettingsSection, useSettings } from './settings-form.tsx';

const SECRET_BYTES = 24;
const LOCKED_OUT = {
  introspection_url: 'Enter the introspection URL. Deploys are rejected without it, because no token could be checked.',
  jwt_issuers: 'Add an issuer. Deploys are rejected without one, because no signed token could be checked.',
  oauth_clients: 'Add a client. Deploys are rejected without one, because no one could get a token.',
} as const;

export function AuthPart(props: PartProps) {
  const form = useSettings(props);
  const kind = () => form.values.auth_type;
  const locked = () =>
    lockedOut({
      ...form.values,
      introspection_url: form.values.introspection_url || null,
      transport: props.config.transport,
    });
  return (
    <SettingsForm of={props} form={form}>
      <SettingsSection title="Authentication" lead="Weaker settings expose every tool." fields={['auth_type']}>
        <Show when={kind() === 'none' && !isLoopback(props.config.host)}>
          <Notice tone="warning">Anyone who can reach {props.config.host} can call every tool.</Notice>
        </Show>
        <Show when={locked()}>{(fault) => <Notice tone="warning">{LOCKED_OUT[fault().field]}</Notice>}</Show>
        <Show when={kind() === 'bearer'}>
          <Notice
            title="Access tokens"
            action={
              <LinkButton href="/access" size="small" icon="key">
                Manage tokens
              </LinkButton>
            }
          >
            <p>Create and revoke tokens under Connect. They need no deploy.</p>
          </Notice>
        </Show>
      </SettingsSection>
      <Show when={kind() === 'oauth_credentials'}>
        <SettingsSection
          title="OAuth clients"
          lead={`They exchange their ID and secret for short-lived tokens at /oauth/token. At most ${MOST_CLIENTS}.`}
          fields={[]}
        >
          <Clients form={form} />
          <Setting name="token_ttl_seconds" />
        </SettingsSection>
      </Show>
      <Show when={kind() === 'oauth_introspection'}>
        <SettingsSection
          title="Introspection"
          lead="Your authorization server reports whether a token is active (RFC 7662). While it is unreachable, new clients are rejected."
          fields={['introspection_url', 'introspection_client_id']}
        >
          <Setting
            name="introspection_client_secret"
            secret
            stored={props.config.introspection_client_secret_set && props.config.introspection_client_secret === undefined}
          />
          <Setting name="introspection_issuer" />
          <Setting name="introspection_scopes" />
          <Setting name="introspection_audience" />
          <Setting name="introspection_cache_ttl_seconds" />
        </SettingsSection>
      </Show>
      <Show when={kind() === 'jwt'}>
        <SettingsSection
          title="Issuers"
          lead={`Tokens are verified with the public keys of their issuer, without a request during a call. At most ${MOST_ISSUERS}.`}
          fields={[]}
        >
          <Issuers form={form} />
        </SettingsSection>
        <SettingsSection title="Check a token" lead="Paste an access token of an issuer to see each check." fields={[]}>
          <TokenCheck unsaved={form.dirty()} />
        </SettingsSection>
      </Show>
      <Show when={kind() === 'jwt' || kind() === 'oauth'}>
        <SettingsSection title="Access tokens" fields={['accept_mcp_tokens']} />
      </Show>
      <SettingsSection title="Dangerous changes" fields={['approvals']} />
      <SettingsSection title="Lifetime of tokens" fields={['token_default_days']} />
      <SettingsSection
        title="Browser access (CORS)"
        lead="Pages from these origins can call the MCP server from a browser. Other clients are not affected."
        fields={['cors_origins']}
      />
      <SettingsSection
        title="Secret references"
        lead="A secret can stay where it is: the form of a connection or a provider then has its reference."
        fields={['secret_refs', 'secret_ref_ttl_seconds']}
      />
    </SettingsForm>
  );
}

const secretText = (secret: unknown): string | undefined => (typeof secret === 'string' ? secret : undefined);

/** IDs, secrets, which are never read back, and what each client may see. */
function Clients(props: { form: Form<SettingsDraft> }) {
  const secret = (): string =>
    btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(SECRET_BYTES))))
      .replaceAll('+', '-')
      .replaceAll('/', '_');
  return (
    <RowsField
      form={props.form}
      name="oauth_clients"
      rows={props.form.values.oauth_clients}
      noun="client"
      title={({ client_id }) => client_id}
      fresh={(): SettingsDraft['oauth_clients'][number] => ({ client_id: '', secret_set: false })}
      most={MOST_CLIENTS}
      empty={<p class="small soft">No clients yet, so no one can get a token.</p>}
      draw={{
        client_secret: (row, at) => (
          <SecretField
            label="Client secret"
            visible
            placeholder={row().secret_set ? 'Stored. Leave empty to keep it.' : undefined}
            hint={row().client_secret === undefined ? undefined : 'Copy the secret now. It is not shown again after saving.'}
            value={row().client_secret}
            onChange={(secret) => props.form.set(`${at}.client_secret`, secret ?? undefined)}
            error={props.form.errorWithin(`${at}.client_secret`)}
          />
        ),
        toolsets: (row, at) => (
          <ToolsetsField
            value={row().toolsets ?? null}
            onChange={(value) => props.form.set(`${at}.toolsets`, value)}
            error={props.form.errorWithin(`${at}.toolsets`)}
          />
        ),
        claims: (row, at) => (
          <ClaimsField
            value={row().claims ?? {}}
            onChange={(value) => props.form.set(`${at}.claims`, value)}
            error={props.form.error(`${at}.claims`)}
          />
        ),
      }}
      actions={(row, at) => (
        <>
          <Button size="small" icon="key" onPress={() => props.form.set(`${at}.client_secret`, secret())}>
            Generate secret
          </Button>
          <Show when={secretText(row().client_secret)}>{(text) => <CopyButton text={text()} label="Client secret" />}</Show>
        </>
      )}
    />
  );
}

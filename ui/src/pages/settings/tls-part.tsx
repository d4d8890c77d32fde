import { For, Show } from 'solid-js';
import { TextField } from '#ui/src/components/form/field.tsx';
import { isReference } from '#core/lib/sealed-values.ts';
import { ByReference } from '#ui/src/fields/secret-field.tsx';
import { CREDENTIALS, credentialsIn, withCredential } from './settings-draft.ts';
import { Certificate } from './certificate.tsx';
import { type PartProps, Setting, SettingsForm, SettingsSection, useSettings } from './settings-form.tsx';

export function TlsPart(props: PartProps) {
  const form = useSettings(props);
  return (
    <div class="stack">
      <SettingsForm of={props} form={form}>
        <SettingsSection
          title="HTTPS"
          lead="Certificates from Let’s Encrypt or another ACME authority for the front port."
          fields={['ssl_enabled', 'ui_domain', 'mcp_domain', 'mcp_proxy', 'min_tls_version']}
        />
        <SettingsSection
          title="Certificate authority"
          lead="How the authority checks that you control the domain."
          fields={['acme_challenge', 'acme_email']}
        >
          <Show when={form.values.acme_challenge === 'dns-01'}>
            <Setting name="dns_provider" />
            <Show when={form.values.dns_provider} keyed>
              {(chosen) => (
                <>
                  <Show
                    when={isReference(form.values.dns_credentials)}
                    fallback={
                      <>
                        <For each={CREDENTIALS[chosen]}>
                          {(credential) => (
                            <TextField
                              label={credential.label}
                              type="password"
                              autocomplete="off"
                              optional={credential.optional}
                              value={credentialsIn(form.values.dns_credentials)[credential.name] ?? ''}
                              onInput={(text) =>
                                form.set(
                                  'dns_credentials',
                                  withCredential(credentialsIn(form.snapshot().dns_credentials), credential.name, text),
                                )
                              }
                              error={form.error(`dns_credentials.${credential.name}`)}
                            />
                          )}
                        </For>
                        <p class="small faint">
                          {props.config.dns_credentials_set && props.config.dns_credentials === undefined
                            ? 'Credentials are stored. Leave the fields empty to keep them.'
                            : 'No credentials are stored.'}
                        </p>
                        <Show when={form.error('dns_credentials')}>{(fault) => <p class="field-error">{fault()}</p>}</Show>
                        <ByReference
                          label="DNS credentials"
                          checked={false}
                          onChange={() => form.set('dns_credentials', { ref: '' })}
                        />
                      </>
                    }
                  >
                    <Setting name="dns_credentials" secret />
                  </Show>
                </>
              )}
            </Show>
          </Show>
          <Setting name="auto_renew" />
        </SettingsSection>
      </SettingsForm>
      <Certificate enabled={props.config.ssl_enabled} dirty={form.dirty()} />
    </div>
  );
}

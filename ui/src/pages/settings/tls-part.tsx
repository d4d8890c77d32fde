import { For, Show } from 'solid-js';
import { RadioCards, Switch } from '#ui/src/components/choice.tsx';
import { TextField } from '#ui/src/components/field.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { Select } from '#ui/src/components/select.tsx';
import { CREDENTIALS, tlsDraft, withCredential } from '#ui/src/kernel/settings-draft.ts';
import { Certificate } from './certificate.tsx';
import { TLS } from './tls-words.ts';
import { type PartProps, SettingsFoot, useSettings } from './use-settings.tsx';
import { WORDS } from './words.ts';

type Challenge = (typeof TLS.challenges)[number]['value'];

export function TlsPart(props: PartProps) {
  const form = useSettings(props, tlsDraft);
  const provider = () => form.values.dns_provider;
  return (
    <div class="stack">
      <form class="stack settings-form" novalidate onSubmit={(event) => void form.submit(event)}>
        <Section title={TLS.use} lead={TLS.use_lead}>
          <Switch label={TLS.enabled} hint={TLS.enabled_hint} {...form.flag('ssl_enabled')} />
          <TextField label={TLS.ui_domain} mono placeholder="sluice.example.com" {...form.text('ui_domain')} />
          <TextField
            label={TLS.mcp_domain}
            hint={TLS.mcp_domain_hint}
            mono
            optional
            placeholder="mcp.example.com"
            {...form.text('mcp_domain')}
          />
          <Switch label={TLS.proxy} hint={TLS.proxy_hint} {...form.flag('mcp_proxy')} />
        </Section>
        <Section title={TLS.challenge} lead={TLS.challenge_lead}>
          <RadioCards label={TLS.challenge} hide_label options={TLS.challenges} {...form.choice<Challenge>('acme_challenge')} />
          <TextField
            label={TLS.email}
            hint={TLS.email_hint}
            type="email"
            optional
            autocomplete="email"
            {...form.text('acme_email')}
          />
          <Show when={form.values.acme_challenge === 'dns-01'}>
            <Select
              label={TLS.provider}
              options={[{ value: '', label: TLS.no_provider }, ...TLS.providers]}
              value={provider() ?? ''}
              error={form.error('dns_provider')}
              onChange={(value) => {
                form.set('dns_provider', value === '' ? null : value);
                form.set('dns_credentials', null);
              }}
            />
            <Show when={provider()} keyed>
              {(chosen) => (
                <>
                  <For each={CREDENTIALS[chosen]}>
                    {(credential) => (
                      <TextField
                        label={credential.label}
                        type="password"
                        autocomplete="off"
                        optional={credential.optional}
                        value={form.values.dns_credentials?.[credential.name] ?? ''}
                        onInput={(text) =>
                          form.set('dns_credentials', withCredential(form.snapshot().dns_credentials, credential.name, text))
                        }
                        error={form.error(`dns_credentials.${credential.name}`)}
                      />
                    )}
                  </For>
                  <p class="small faint">{props.config.dns_credentials_set ? WORDS.stored : WORDS.not_stored}</p>
                  <Show when={form.error('dns_credentials')}>{(fault) => <p class="field-error">{fault()}</p>}</Show>
                </>
              )}
            </Show>
          </Show>
          <Switch label={TLS.renew} hint={TLS.renew_hint} {...form.flag('auto_renew')} />
        </Section>
        <SettingsFoot form={form} />
      </form>
      <Certificate enabled={props.config.ssl_enabled} dirty={form.dirty()} />
    </div>
  );
}

import { For, Index, Show } from 'solid-js';
import { Button, IconButton } from '#ui/src/components/button.tsx';
import { CopyButton } from '#ui/src/components/code-block.tsx';
import { RadioCards } from '#ui/src/components/choice.tsx';
import { TextField } from '#ui/src/components/field.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { NumberField } from '#ui/src/components/number-field.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { TagsField } from '#ui/src/components/tags-field.tsx';
import { isLoopback, lockedOut } from '#core/contract/config.ts';
import type { Form } from '#ui/src/kernel/form.ts';
import { authDraft } from '#ui/src/kernel/settings-draft.ts';
import { hint, type PartProps, SettingsFoot, useSettings } from './use-settings.tsx';
import { AUTH, AUTH_TYPES, WORDS } from './words.ts';

type AuthForm = Form<ReturnType<typeof authDraft>>;
type AuthType = (typeof AUTH_TYPES)[number]['value'];
const MOST_CLIENTS = 10;
const SECRET_BYTES = 24;

export function AuthPart(props: PartProps) {
  const form = useSettings(props, authDraft);
  const kind = () => form.values.auth_type;
  const locked = () =>
    lockedOut({
      ...form.values,
      introspection_url: form.values.introspection_url || null,
      transport: props.config.transport,
    });
  return (
    <form class="stack settings-form" novalidate onSubmit={(event) => void form.submit(event)}>
      <Section title={AUTH.kind} lead={AUTH.kind_lead}>
        <RadioCards label={AUTH.auth_type} options={AUTH_TYPES} {...form.choice<AuthType>('auth_type')} />
        <p class="small">{hint(props.pending, 'auth_type')}</p>
        <Show when={kind() === 'none' && !isLoopback(props.config.host)}>
          <Notice tone="brass">{AUTH.open(props.config.host)}</Notice>
        </Show>
        <Show when={locked()}>{(fault) => <Notice tone="brass">{AUTH.locked_out[fault().field]}</Notice>}</Show>
        <Show when={kind() === 'bearer'}>
          <Notice
            title={AUTH.tokens}
            action={
              <LinkButton href="/access" size="small" icon="key">
                {AUTH.tokens_action}
              </LinkButton>
            }
          >
            <p>{AUTH.tokens_text}</p>
          </Notice>
        </Show>
      </Section>
      <Show when={kind() === 'oauth_credentials'}>
        <Section title={AUTH.clients} lead={AUTH.clients_lead}>
          <Clients form={form} />
          <NumberField
            label={AUTH.ttl}
            unit="s"
            min={60}
            max={604_800}
            hint={hint(props.pending, 'token_ttl_seconds')}
            {...form.number('token_ttl_seconds')}
          />
        </Section>
      </Show>
      <Show when={kind() === 'oauth_introspection'}>
        <Section title={AUTH.introspection} lead={AUTH.introspection_lead}>
          <TextField
            label={AUTH.url}
            type="url"
            mono
            placeholder="https://login.example.com/introspect"
            hint={hint(props.pending, 'introspection_url')}
            {...form.text('introspection_url')}
          />
          <TextField label={AUTH.introspection_client} mono autocomplete="off" {...form.text('introspection_client_id')} />
          <TextField
            label={AUTH.secret}
            type="password"
            autocomplete="new-password"
            hint={props.config.introspection_client_secret_set ? WORDS.stored : WORDS.not_stored}
            {...form.text('introspection_client_secret')}
          />
          <TextField
            label={AUTH.issuer}
            type="url"
            mono
            placeholder="https://login.example.com/realms/shop"
            hint={hint(props.pending, 'introspection_issuer', AUTH.issuer_hint)}
            {...form.text('introspection_issuer')}
          />
          <TagsField
            label={AUTH.scopes}
            hint={hint(props.pending, 'introspection_scopes', AUTH.scopes_hint)}
            value={form.values.introspection_scopes}
            onChange={(scopes) => form.set('introspection_scopes', scopes)}
            error={[...form.errors()].find(([path]) => path.startsWith('introspection_scopes'))?.[1]}
          />
          <TextField
            label={AUTH.audience}
            mono
            autocomplete="off"
            hint={hint(props.pending, 'introspection_audience', AUTH.audience_hint)}
            {...form.text('introspection_audience')}
          />
          <NumberField label={AUTH.cache} unit="s" min={0} max={3_600} {...form.number('introspection_cache_ttl_seconds')} />
        </Section>
      </Show>
      <Section title={AUTH.cors} lead={AUTH.cors_lead}>
        <TagsField
          label={AUTH.origins}
          hint={hint(props.pending, 'cors_origins', AUTH.origins_hint)}
          value={form.values.cors_origins}
          onChange={(origins) => form.set('cors_origins', [...origins])}
          error={[...form.errors()].find(([path]) => path.startsWith('cors_origins'))?.[1]}
        />
      </Section>
      <SettingsFoot form={form} />
    </form>
  );
}

/** Ids and secrets; what is stored is never read back. */
function Clients(props: { form: AuthForm }) {
  const rows = () => props.form.values.oauth_clients;
  const secret = (): string =>
    btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(SECRET_BYTES))))
      .replaceAll('+', '-')
      .replaceAll('/', '_');
  return (
    <div class="stack">
      <Show when={rows().length === 0}>
        <p class="small soft">{AUTH.no_clients}</p>
      </Show>
      <Index each={rows()}>
        {(row, index) => (
          <div class="settings-client">
            <TextField label={AUTH.client_id} mono autocomplete="off" {...props.form.text(`oauth_clients.${index}.client_id`)} />
            <TextField
              label={AUTH.client_secret}
              mono
              autocomplete="off"
              placeholder={row().secret_set ? AUTH.secret_keep : undefined}
              hint={row().client_secret === undefined ? undefined : AUTH.generated}
              value={row().client_secret ?? ''}
              onInput={(text) => props.form.set(`oauth_clients.${index}.client_secret`, text === '' ? undefined : text)}
              error={props.form.error(`oauth_clients.${index}.client_secret`)}
            />
            <div class="row settings-client-ways">
              <Button size="small" icon="key" onPress={() => props.form.set(`oauth_clients.${index}.client_secret`, secret())}>
                {AUTH.generate}
              </Button>
              <Show when={row().client_secret}>{(text) => <CopyButton text={text()} label={AUTH.client_secret} />}</Show>
              <IconButton
                icon="trash"
                size="small"
                label={`${AUTH.remove_client} ${row().client_id}`}
                onPress={() =>
                  props.form.set(
                    'oauth_clients',
                    rows().filter((_, place) => place !== index),
                  )
                }
              />
            </div>
          </div>
        )}
      </Index>
      <For each={props.form.error('oauth_clients') === undefined ? [] : [props.form.error('oauth_clients')]}>
        {(fault) => <p class="field-error">{fault}</p>}
      </For>
      <div class="row">
        <Button
          size="small"
          icon="plus"
          blocked={rows().length >= MOST_CLIENTS}
          onPress={() => props.form.set('oauth_clients', [...rows(), { client_id: '', secret_set: false }])}
        >
          {AUTH.add_client}
        </Button>
      </div>
    </div>
  );
}

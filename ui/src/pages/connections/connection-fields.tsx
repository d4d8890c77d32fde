import { createMemo, For, Show } from 'solid-js';
import type { ConnectionDraft, ConnectionType } from '#core/contract/connections.ts';
import { Switch } from '#ui/src/components/choice.tsx';
import { TextArea, TextField } from '#ui/src/components/field.tsx';
import { NumberField } from '#ui/src/components/number-field.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { Select } from '#ui/src/components/select.tsx';
import { fieldsOf } from '#ui/src/kernel/connection-draft.ts';
import type { Form } from '#ui/src/kernel/form.ts';
import { LABELS, TLS } from './words.ts';

const LIMITS = [
  { name: 'pool_size', unit: undefined, hint: 'Connections that are kept open.' },
  { name: 'max_concurrency', unit: undefined, hint: 'Empty: as many as the pool has.' },
  { name: 'queue_limit', unit: 'calls', hint: 'Calls that may wait; more are refused at once.' },
  { name: 'queue_timeout_ms', unit: 'ms', hint: undefined },
  { name: 'query_timeout_ms', unit: 'ms', hint: 'Then the database is told to stop.' },
  { name: 'max_rows', unit: 'rows', hint: 'Of one result, unless a tool says less.' },
  { name: 'max_bytes', unit: 'bytes', hint: 'Of one result.' },
] as const;

const PEMS = [
  { name: 'ssl_ca', hint: 'PEM; empty uses what the system trusts.' },
  { name: 'ssl_cert', hint: 'PEM; only when the database asks clients for one.' },
] as const;

/** Every field of a connection of its kind; `stored` says which secrets are kept already. */
export function ConnectionFields(props: {
  form: Form<ConnectionDraft>;
  type: ConnectionType | undefined;
  stored?: { readonly password_set: boolean; readonly ssl_key_set: boolean };
}) {
  const fields = createMemo(() => fieldsOf(props.form.values.db_type));
  const network = () => fields().host !== undefined;
  const kept = (set: boolean | undefined) => (set ? 'Stored. Type to replace it.' : undefined);
  return (
    <>
      <Section title="Where it is" lead={props.type?.note ?? 'How the server reaches the database.'}>
        <TextField label="Name" required hint="Tools and logs call it by this name." {...props.form.text('name')} />
        <Show when={fields().host}>
          {(words) => (
            <div class="host-port">
              <TextField
                label={words().label}
                placeholder={words().placeholder}
                hint={words().hint}
                required
                mono
                {...props.form.text('host')}
              />
              <NumberField label="Port" min={1} max={65_535} {...props.form.number('port')} />
            </div>
          )}
        </Show>
        <TextField
          label={fields().database.label}
          placeholder={fields().database.placeholder}
          hint={fields().database.hint}
          required
          mono
          {...props.form.text('database')}
        />
      </Section>
      <Show when={network()}>
        <Section title="Who signs in" lead="The password is stored encrypted and never shown again.">
          <div class="grid-2">
            <Show when={fields().username}>
              {(words) => (
                <TextField label={words().label} hint={words().hint} autocomplete="off" mono {...props.form.text('username')} />
              )}
            </Show>
            <Show when={fields().password}>
              {(words) => (
                <TextField
                  label={words().label}
                  type="password"
                  autocomplete="new-password"
                  hint={kept(props.stored?.password_set)}
                  {...props.form.text('password')}
                />
              )}
            </Show>
          </div>
          <For each={props.type?.extra_fields ?? []}>
            {(extra) => (
              <TextField
                label={extra.label}
                hint={extra.hint}
                placeholder={extra.default ?? undefined}
                type={extra.secret ? 'password' : 'text'}
                optional
                mono
                {...props.form.text(`extra_params.${extra.name}`)}
              />
            )}
          </For>
        </Section>
      </Show>
      <Show when={fields().tls}>
        <Section title="TLS" lead="Whether the way to the database is encrypted, and who is trusted.">
          <Select label="Use TLS" options={TLS} {...props.form.choice('ssl_mode')} name="ssl_mode" />
          <Show when={props.form.values.ssl_mode !== 'disable'}>
            <details class="fold" open={props.form.values.ssl_ca !== null || props.form.values.ssl_cert !== null}>
              <summary>Certificates</summary>
              <div class="stack">
                <For each={PEMS}>
                  {(pem) => (
                    <TextArea
                      label={LABELS[pem.name] ?? pem.name}
                      hint={pem.hint}
                      rows={3}
                      mono
                      optional
                      placeholder="-----BEGIN CERTIFICATE-----"
                      {...props.form.text(pem.name)}
                    />
                  )}
                </For>
                <TextArea
                  label="Client key"
                  hint={kept(props.stored?.ssl_key_set) ?? 'PEM; stored encrypted.'}
                  rows={3}
                  mono
                  optional
                  {...props.form.text('ssl_key')}
                />
              </div>
            </details>
          </Show>
        </Section>
      </Show>
      <Section title="What it may do" lead="Applies to every tool on this connection.">
        <Switch
          label="Read-only"
          hint="Tools that write are refused, whatever their SQL says; the database session enforces it."
          {...props.form.flag('read_only')}
        />
        <Switch label="Enabled" hint="Switched off, its tools are left out of the next deploy." {...props.form.flag('enabled')} />
        <details class="fold">
          <summary>Limits</summary>
          <div class="grid-2">
            <For each={LIMITS}>
              {(limit) => (
                <NumberField
                  label={LABELS[limit.name] ?? limit.name}
                  {...(limit.unit === undefined ? {} : { unit: limit.unit })}
                  hint={limit.hint}
                  {...props.form.number(limit.name)}
                />
              )}
            </For>
          </div>
        </details>
      </Section>
    </>
  );
}

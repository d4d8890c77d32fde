import { createEffect, createMemo, createSignal, For, Show, untrack } from 'solid-js';
import { connectionCertificates, connectionLimits } from '#core/contract/definitions/connection-fields.ts';
import type { Connection, ConnectionDraft, ConnectionType } from '#core/contract/definitions/connections.ts';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { Fixed } from '#ui/src/components/form/fixed.tsx';
import { ADMINISTERED } from '#ui/src/fields/administered.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { FormField } from '#ui/src/fields/form-field.tsx';
import { SecretFormField } from '#ui/src/fields/secret-field.tsx';
import { SessionFields } from './session-fields.tsx';
import { SshFields } from './ssh-fields.tsx';
import type { FieldFault } from './words.ts';
import { fieldsOf, isAdvanced, isAdvancedField } from './connection-draft.ts';
import type { Form } from '#ui/src/kernel/form/form.ts';

const LIMITS = Object.keys(connectionLimits);
const PEMS = Object.keys(connectionCertificates).filter((name) => name !== 'ssl_key');

interface FieldsProps {
  form: Form<ConnectionDraft>;
  type: ConnectionType | undefined;
  /** Which secrets are already stored. */
  stored?: Pick<Connection, 'password' | 'password_set' | 'ssl_key' | 'ssl_key_set' | 'ssh' | 'read_only'>;
  /** What the last test found at one field. */
  fault?: FieldFault | undefined;
  /** Stores the key of an SSH server in the form and tests again. */
  onTrust?: ((field: string, host_key: string) => void) | undefined;
}

/** Whether a secret is stored here, which the form cannot show; a reference is shown. */
const isHidden = (set: boolean | undefined, ref: unknown): true | undefined =>
  set === true && ref === undefined ? true : undefined;

/** The fields of a connection for its type: address and account first, the others under *Advanced*. */
export function ConnectionFields(props: FieldsProps) {
  const { session } = useKernel();
  /** Without the permission, read-only can be enabled but not disabled. */
  const keepsReadOnly = () => props.stored?.read_only === true && !session.may('config.update');
  const fields = createMemo(() => fieldsOf(props.form.values.db_type));
  const at = (field: string) => (props.fault?.field === field ? props.fault.message : undefined);
  const network = () => fields().host !== undefined;
  const isList = () => props.form.values.host?.includes(',') === true;
  return (
    <>
      <Section title="Address" lead={props.type?.note ?? 'Where the database listens.'}>
        <FormField form={props.form} name="name" />
        <Show when={fields().host}>
          {(words) => (
            <div class="host-port">
              <FormField form={props.form} name="host" required error={at('host')} {...words()} />
              <FormField form={props.form} name="port" />
            </div>
          )}
        </Show>
        <Show when={props.type?.hosts === true && (isList() || props.form.values.target !== 'any')}>
          <FormField form={props.form} name="target" error={at('target')} />
        </Show>
        <FormField form={props.form} name="database" {...fields().database} />
      </Section>
      <Section title={network() ? 'Account' : 'Access'} lead={network() ? 'The password is stored encrypted.' : undefined}>
        <Show when={network()}>
          <div class="grid-2">
            <Show when={fields().username}>{(words) => <FormField form={props.form} name="username" {...words()} />}</Show>
            <Show when={fields().password}>
              {(words) => (
                <SecretFormField
                  form={props.form}
                  name="password"
                  stored={isHidden(props.stored?.password_set, props.stored?.password)}
                  {...words()}
                />
              )}
            </Show>
          </div>
        </Show>
        <Fixed when={keepsReadOnly()}>
          <FormField form={props.form} name="read_only" hint={keepsReadOnly() ? ADMINISTERED : undefined} />
        </Fixed>
      </Section>
      <Show when={props.type?.ssh === true}>
        <SshFields form={props.form} stored={props.stored?.ssh} fault={props.fault} onTrust={props.onTrust} />
      </Show>
      <AdvancedFields {...props} />
    </>
  );
}

/** Opens when a field in it has an error or differs from its default. */
function AdvancedFields(props: FieldsProps) {
  const fields = createMemo(() => fieldsOf(props.form.values.db_type));
  const extras = () => (fields().host === undefined ? [] : (props.type?.extra_fields ?? []));
  const has_values = createMemo(
    () =>
      props.stored?.ssl_key_set === true ||
      isAdvanced(
        props.form.values,
        extras().map(({ name }) => name),
      ),
  );
  const has_errors = createMemo(() => [...props.form.errors().keys()].some(isAdvancedField));
  const [open, setOpen] = createSignal(untrack(has_values));
  createEffect(() => (has_values() || has_errors()) && setOpen(true));
  const contents = () =>
    [
      ...(fields().tls ? ['TLS'] : []),
      ...(extras().length > 0 ? ['engine settings'] : []),
      ...(props.type?.session_values === true ? ['callers'] : []),
      'limits',
    ].join(', ');
  return (
    <details class="fold connection-advanced" open={open()} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        Advanced: <span class="faint">{contents()}</span>
      </summary>
      <div class="stack">
        <Show when={fields().tls}>
          <Section title="TLS" lead="Encryption between Sluice and the database.">
            <FormField form={props.form} name="ssl_mode" label="Use TLS" />
            <Show when={props.form.values.ssl_mode !== 'disable'}>
              <details class="fold" open={props.form.values.ssl_ca !== null || props.form.values.ssl_cert !== null}>
                <summary>Certificates</summary>
                <div class="stack">
                  <For each={PEMS}>{(name) => <FormField form={props.form} name={name} />}</For>
                  <SecretFormField
                    form={props.form}
                    name="ssl_key"
                    stored={isHidden(props.stored?.ssl_key_set, props.stored?.ssl_key)}
                  />
                </div>
              </details>
            </Show>
          </Section>
        </Show>
        <Show when={extras().length > 0}>
          <Section title="Engine settings">
            <For each={extras()}>
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
        <Show when={props.type?.session_values === true ? props.type : undefined}>
          {(type) => <SessionFields form={props.form} type={type()} />}
        </Show>
        <Section title="Limits" lead="Applies to every tool on this connection.">
          <FormField form={props.form} name="enabled" />
          <div class="grid-2">
            <For each={LIMITS}>{(name) => <FormField form={props.form} name={name} />}</For>
          </div>
        </Section>
      </div>
    </details>
  );
}

import { Index, Show } from 'solid-js';
import type { ConnectionDraft } from '#core/contract/definitions/connections.ts';
import { DEFAULT_SSH_PORT, type ShownSsh, type SshHop } from '#core/contract/definitions/connection-fields.ts';
import { Button } from '#ui/src/components/button.tsx';
import { AddRow } from '#ui/src/components/form/add-row.tsx';
import { Switch } from '#ui/src/components/form/choice.tsx';
import { Fieldset } from '#ui/src/components/form/fieldset.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { FormField } from '#ui/src/fields/form-field.tsx';
import { SecretFormField } from '#ui/src/fields/secret-field.tsx';
import type { Form } from '#ui/src/kernel/form/form.ts';
import type { FieldFault } from './words.ts';

const MOST_JUMPS = 3;
const EMPTY: SshHop = { host: '', port: DEFAULT_SSH_PORT, username: '', host_key: null };

interface SshFieldsProps {
  form: Form<ConnectionDraft>;
  /** Which secrets are already stored. */
  stored?: ShownSsh | null | undefined;
  /** What the last test found at one of the fields. */
  fault?: FieldFault | undefined;
  /** Stores a host key in the form and tests again. */
  onTrust?: ((field: string, host_key: string) => void) | undefined;
}

/** The SSH servers through which the database is reached: the last one first, since most tunnels have only that. */
export function SshFields(props: SshFieldsProps) {
  const ssh = () => props.form.values.ssh;
  const jumps = () => ssh()?.jump ?? [];
  const setJumps = (jump: SshHop[]) => props.form.set('ssh.jump', jump);
  return (
    <Section title="SSH tunnel" lead="For a database that only an SSH server, such as a bastion, can reach.">
      <Switch
        label="Connect through an SSH server"
        checked={ssh() !== null}
        onChange={(on) => props.form.set('ssh', on ? { ...EMPTY, jump: [] } : null)}
        error={props.form.error('ssh')}
      />
      <Show when={ssh() !== null}>
        <p class="small soft">Host and port of the database are those that the SSH server connects to.</p>
        <HopFields form={props.form} fault={props.fault} onTrust={props.onTrust} path="ssh" stored={props.stored ?? undefined} />
        <Index each={jumps()}>
          {(_, n) => (
            <Fieldset label={`Jump server ${n + 1}`}>
              <HopFields
                form={props.form}
                fault={props.fault}
                onTrust={props.onTrust}
                path={`ssh.jump.${n}`}
                stored={props.stored?.jump[n]}
              />
              <div class="row">
                <Button size="small" icon="trash" onPress={() => setJumps(jumps().toSpliced(n, 1))}>
                  Remove jump server {n + 1}
                </Button>
              </div>
            </Fieldset>
          )}
        </Index>
        <Show when={jumps().length < MOST_JUMPS}>
          <AddRow
            label="Add a jump server"
            error={props.form.error('ssh.jump')}
            onPress={() => setJumps([...jumps(), { ...EMPTY }])}
          />
        </Show>
        <Show when={jumps().length > 0}>
          <p class="small soft">Jump servers are passed in this order before the SSH server above.</p>
        </Show>
      </Show>
    </Section>
  );
}

type StoredHop = ShownSsh['jump'][number];

function HopFields(props: Omit<SshFieldsProps, 'stored'> & { path: string; stored: StoredHop | undefined }) {
  const path = (name: string) => `${props.path}.${name}`;
  const error = (name: string) => (props.fault?.field === path(name) ? props.fault.message : undefined);
  const isHidden = (set: boolean | undefined, ref: unknown) => (set === true && ref === undefined ? true : undefined);
  const presented = () => (props.fault?.field === path('host_key') ? props.fault.host_key : undefined);
  return (
    <div class="stack">
      <div class="host-port">
        <FormField form={props.form} name={path('host')} required error={error('host')} />
        <FormField form={props.form} name={path('port')} error={error('port')} />
      </div>
      <FormField form={props.form} name={path('username')} required error={error('username')} />
      <SecretFormField
        form={props.form}
        name={path('private_key')}
        stored={isHidden(props.stored?.private_key_set, props.stored?.private_key)}
        required={false}
        error={error('private_key')}
      />
      <div class="grid-2">
        <SecretFormField
          form={props.form}
          name={path('passphrase')}
          stored={isHidden(props.stored?.passphrase_set, props.stored?.passphrase)}
          required={false}
          error={error('passphrase')}
        />
        <SecretFormField
          form={props.form}
          name={path('password')}
          stored={isHidden(props.stored?.password_set, props.stored?.password)}
          required={false}
          error={error('password')}
        />
      </div>
      <FormField form={props.form} name={path('host_key')} error={error('host_key')} />
      <Show when={props.onTrust && presented()}>
        {(host_key) => (
          <div class="row">
            <Button size="small" onPress={() => props.onTrust?.(path('host_key'), host_key())}>
              Trust this key
            </Button>
          </div>
        )}
      </Show>
    </div>
  );
}

import { For, Index } from 'solid-js';
import { CALLBACK_PATH, type IdentityProvider, ProvidedRole } from '#core/contract/identity/identity-providers.ts';
import { ROLE_CHOICES } from '#core/contract/identity/roles.ts';
import { Button, IconButton } from '#ui/src/components/button.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { FormFoot } from '#ui/src/components/form/form-foot.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { KeyValue } from '#ui/src/components/show/key-value.tsx';
import { FormField } from '#ui/src/fields/form-field.tsx';
import { useRecordForm } from '#ui/src/components/use-form.ts';
import { again } from '#ui/src/kernel/data/all-of.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { draftOf, type GroupRole, NEW, type ProviderDraft, ProviderFields, rolesOf } from './provider-draft.ts';
import { Fieldset } from '#ui/src/components/form/fieldset.tsx';
import { passesFocus } from '#ui/src/components/form/passes-focus.ts';

/** A new identity provider, or what is changed of one. */
export function ProviderForm(props: {
  provider?: IdentityProvider;
  onDone: (provider: IdentityProvider) => void;
  onCancel: () => void;
}) {
  const { call } = useKernel();
  const form = useRecordForm({
    record: () => props.provider,
    kind: 'identity_provider',
    schema: ProviderFields,
    toValues: (provider): ProviderDraft => (provider === undefined ? NEW : draftOf(provider)),
    unsaved: 'The changes to this provider are not saved.',
    read: (provider) => again(provider, (skip, limit) => call('identity_providers.list', { skip, limit })),
    save: ({ client_secret, role_by_group, ...fields }, stored) => {
      // An empty field keeps what is stored.
      const secret = client_secret === null || client_secret === '' ? {} : { client_secret };
      const draft = { ...fields, ...secret, role_by_group: rolesOf(role_by_group) };
      return stored === undefined
        ? call('identity_providers.create', draft)
        : call('identity_providers.update', { ...draft, id: stored.id, version: stored.version });
    },
    onDone: (stored) => props.onDone(stored),
  });
  const redirect = () => props.provider?.redirect_uri ?? `${window.location.origin}${CALLBACK_PATH}`;

  return (
    <form class="stack" novalidate onSubmit={(event) => void form.submit(event)}>
      <FormField form={form} name="name" />
      <KeyValue items={[{ label: 'Redirect URI', value: redirect(), mono: true, copy: redirect() }]} />
      <p class="field-hint">Register exactly this address with the provider.</p>
      <For each={['issuer', 'client_id', 'client_secret', 'scopes'] as const}>
        {(name) => <FormField form={form} name={name} stored={props.provider?.client_secret_set} />}
      </For>
      <h3>Who can sign in</h3>
      <For each={['create_people', 'allowed_domains', 'default_role', 'groups_claim'] as const}>
        {(name) => <FormField form={form} name={name} />}
      </For>
      <RolesByGroup
        lines={form.values.role_by_group}
        error={form.errorWithin('role_by_group')}
        onChange={(lines) => form.set('role_by_group', lines)}
      />
      <FormField form={form} name="enabled" />
      <FormFoot
        form={form}
        submit={props.provider === undefined ? 'Add provider' : 'Save'}
        always
        onCancel={() => props.onCancel()}
      />
    </form>
  );
}

const ROLES = ProvidedRole.options.toReversed().map((role) => ({ value: role, label: ROLE_CHOICES[role].label }));

/** Groups of the provider and the role of their members, one per line. */
function RolesByGroup(props: {
  lines: readonly GroupRole[];
  error: string | undefined;
  onChange: (lines: readonly GroupRole[]) => void;
}) {
  const put = (index: number, line: Partial<GroupRole>) =>
    props.onChange(props.lines.map((old, at) => (at === index ? { ...old, ...line } : old)));
  return (
    <Fieldset
      label="Roles by group"
      hint="A person in several groups gets the highest role. Roles follow the groups at every sign-in; owners stay owners."
      error={props.error}
    >
      <Index each={props.lines}>
        {(line, index) => (
          <div class="provider-role" ref={passesFocus}>
            <TextField label="Group" value={line().group} onInput={(group) => put(index, { group })} />
            <Select label="Role" options={ROLES} value={line().role} onChange={(role) => put(index, { role })} />
            <IconButton
              icon="trash"
              label={`Remove ${line().group === '' ? 'group' : line().group}`}
              onPress={() => props.onChange(props.lines.toSpliced(index, 1))}
            />
          </div>
        )}
      </Index>
      <div>
        <Button size="small" icon="plus" onPress={() => props.onChange([...props.lines, { group: '', role: 'viewer' }])}>
          Add group
        </Button>
      </div>
    </Fieldset>
  );
}

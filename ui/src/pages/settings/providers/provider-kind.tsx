import { CALLBACK_PATH, type IdentityProvider } from '#core/contract/identity/identity-providers.ts';
import { Fieldset } from '#ui/src/components/form/fieldset.tsx';
import { KeyValue } from '#ui/src/components/show/key-value.tsx';
import type { RecordKind } from '#ui/src/features/records/record-form.tsx';
import { FormField } from '#ui/src/fields/form-field.tsx';
import { SecretFormField } from '#ui/src/fields/secret-field.tsx';
import { RowsField } from '#ui/src/fields/rows-field.tsx';
import { algorithmsError } from '../issuers-part.tsx';
import { plural } from '#ui/src/kernel/words.ts';
import { draftOf, type GroupRole, NEW, type ProviderDraft, ProviderFields, toInput } from './provider-draft.ts';

/** Identity providers in their panel. */
export const PROVIDERS: RecordKind<IdentityProvider, ProviderDraft> = {
  type: 'identity_provider',
  noun: 'provider',
  verb: 'Add',
  nameOf: ({ name }) => name,
  list: (read, skip, limit) => read('identity_providers.list', { skip, limit }),
  schema: ProviderFields,
  blank: NEW,
  toValues: draftOf,
  fields: () => [
    'name',
    'redirect_uri',
    'issuer',
    'client_id',
    'client_secret',
    'scopes',
    'people',
    'create_people',
    'allowed_domains',
    'default_role',
    'groups_claim',
    'role_by_group',
    'clients',
    'accept_assertions',
    'assertion_clients',
    'assertion_algorithms',
    'enabled',
  ],
  draw: {
    redirect_uri: (_, provider) => {
      const uri = provider?.redirect_uri ?? `${window.location.origin}${CALLBACK_PATH}`;
      return (
        <>
          <KeyValue items={[{ label: 'Redirect URI', value: uri, mono: true, copy: uri }]} />
          <p class="field-hint">Register exactly this address with the provider.</p>
        </>
      );
    },
    client_secret: (form, provider) => (
      <SecretFormField
        form={form}
        name="client_secret"
        stored={provider && provider.client_secret_set && provider.client_secret === undefined}
      />
    ),
    people: () => <h3>Who can sign in</h3>,
    clients: () => <h3>Clients without a consent page</h3>,
    assertion_algorithms: (form) => (
      <FormField form={form} name="assertion_algorithms" optional error={algorithmsError(form.values.assertion_algorithms)} />
    ),
    role_by_group: (form) => (
      <Fieldset
        label="Roles by group"
        hint="A person in several groups gets the highest role. Roles follow the groups at every sign-in; owners stay owners."
      >
        <RowsField
          form={form}
          name="role_by_group"
          rows={form.values.role_by_group}
          noun="group"
          title={({ group }) => group}
          fresh={(): GroupRole => ({ group: '', role: 'viewer' })}
          inline
        />
      </Fieldset>
    ),
  },
  create: (call, values) => call('identity_providers.create', toInput(values)),
  update: (call, values, { id, version }) => call('identity_providers.update', { id, version, ...toInput(values) }),
  enable: (call, enabled, { id, version }) => call('identity_providers.update', { id, version, enabled }),
  remove: (call, { id }) => call('identity_providers.delete', { id }),
  removal: {
    verb: 'Delete',
    undo: true,
    text: ({ people }) =>
      people === 0
        ? 'No one signs in through it yet. You can restore it from the history.'
        : `${plural(people, 'person', 'people')} can no longer sign in through it. They are not deleted, and you can restore the provider from the history.`,
  },
};

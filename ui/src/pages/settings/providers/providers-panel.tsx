import { createSignal, Show } from 'solid-js';
import { type IdentityProvider, IdentityProviderDraft } from '#core/contract/identity/identity-providers.ts';
import { Badge, StatusDot } from '#ui/src/components/badge.tsx';
import { DialogOf } from '#ui/src/components/dialog-of.tsx';
import { RecordPanel } from '#ui/src/features/records/record-panel.tsx';
import { fieldColumn } from '#ui/src/fields/field-column.tsx';
import { PROVIDERS } from './provider-kind.tsx';
import { ProviderTest } from './provider-test.tsx';

/** The identity providers that people sign in with. A saved provider is tested. */
export function ProvidersPanel() {
  const [testing, setTesting] = createSignal<IdentityProvider>();
  return (
    <>
      <RecordPanel
        of={PROVIDERS}
        title="Identity providers"
        lead="People sign in with the account of their organization: Google, Entra, Okta, Keycloak or any other OpenID Connect provider."
        icon="key"
        new_title="Add an identity provider"
        size="wide"
        empty={{
          title: 'No identity providers yet',
          text: 'Register Sluice as a client with your provider, then add it here.',
        }}
        columns={[
          fieldColumn(IdentityProviderDraft, 'name'),
          fieldColumn(IdentityProviderDraft, 'issuer', { narrow: 'hide' }),
          { id: 'people', head: 'People', narrow: 'hide', num: ({ people }) => people },
          {
            id: 'state',
            head: 'State',
            cell: (row) => (
              <span class="row">
                <StatusDot tone={row.enabled ? 'good' : 'plain'} label={row.enabled ? 'Enabled' : 'Disabled'} />
                <Show when={row.client_secret_missing}>
                  <Badge tone="bad">Secret missing</Badge>
                </Show>
              </span>
            ),
          },
        ]}
        actions={(provider) => [{ label: 'Test', icon: 'bolt', onSelect: () => setTesting(provider) }]}
        onCreated={setTesting}
        onSaved={setTesting}
      />
      <DialogOf of={testing()} title={({ name }) => `Test of ${name}`} onClose={() => setTesting(undefined)}>
        {(provider) => <ProviderTest provider={provider} />}
      </DialogOf>
    </>
  );
}

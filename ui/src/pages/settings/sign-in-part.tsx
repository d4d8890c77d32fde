import { KeysPanel } from './keys-panel.tsx';
import { ProvidersPanel } from './providers/providers-panel.tsx';
import { type PartProps, SettingsForm, SettingsSection, useSettings } from './settings-form.tsx';

/** How people sign in, here and from MCP clients. */
export function SignInPart(props: PartProps) {
  const form = useSettings(props);
  return (
    <div class="stack">
      <ProvidersPanel />
      <SettingsForm of={props} form={form}>
        <SettingsSection
          title="Password"
          lead="Can be turned off once an owner can sign in through an identity provider."
          fields={['password_sign_in']}
        />
        <SettingsSection
          title="Sign-in from MCP clients"
          lead="How long people stay signed in from a client, and whether new clients can register."
          fields={['oauth_access_minutes', 'oauth_refresh_days', 'oauth_grant_days', 'dynamic_registration']}
        />
      </SettingsForm>
      <KeysPanel />
    </div>
  );
}

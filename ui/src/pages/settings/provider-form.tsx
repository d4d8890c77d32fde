import { createSignal, For, Index, Show } from 'solid-js';
import {
  CALLBACK_PATH,
  type IdentityProvider,
  IdentityProviderDraft,
  ProvidedRole,
} from '#core/contract/identity/identity-providers.ts';
import { ROLE_CHOICES } from '#core/contract/identity/roles.ts';
import { Button, IconButton } from '#ui/src/components/button.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { FormFoot } from '#ui/src/components/form/form-foot.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { KeyValue } from '#ui/src/components/show/key-value.tsx';
import { FormField } from '#ui/src/fields/form-field.tsx';
import { createForm } from '#ui/src/kernel/form/form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { WORDS } from './provider-words.ts';

type Role = IdentityProviderDraft['default_role'];
interface Draft extends Record<string, unknown> {
  name: string;
  issuer: string;
  client_id: string;
  client_secret: string | null;
  scopes: string[];
  groups_claim: string | null;
  allowed_domains: string[];
  create_people: boolean;
  default_role: Role;
  role_by_group: Record<string, NonNullable<Role>>;
  enabled: boolean;
}

const NEW: Draft = {
  name: '',
  issuer: '',
  client_id: '',
  client_secret: null,
  scopes: ['openid', 'email', 'profile'],
  groups_claim: null,
  allowed_domains: [],
  create_people: false,
  default_role: 'caller',
  role_by_group: {},
  enabled: true,
};

const draftOf = ({ name, issuer, client_id, scopes, groups_claim, ...rest }: IdentityProvider): Draft => ({
  name,
  issuer,
  client_id,
  client_secret: null,
  scopes: [...scopes],
  groups_claim,
  allowed_domains: [...rest.allowed_domains],
  create_people: rest.create_people,
  default_role: rest.default_role,
  role_by_group: { ...rest.role_by_group },
  enabled: rest.enabled,
});

/** A new identity provider, or what is changed of one. */
export function ProviderForm(props: {
  provider?: IdentityProvider;
  onDone: (provider: IdentityProvider) => void;
  onCancel: () => void;
}) {
  const { call } = useKernel();
  // A dialog opens anew for every provider.
  // oxlint-disable-next-line solid/reactivity
  const { provider } = props;
  const form = createForm<Draft, IdentityProvider>({
    schema: IdentityProviderDraft,
    initial: () => (provider === undefined ? NEW : draftOf(provider)),
    submit: ({ client_secret, ...draft }) => {
      // An empty field keeps what is stored.
      const secret = client_secret === null || client_secret === '' ? {} : { client_secret };
      return provider === undefined
        ? call('identity_providers.create', { ...draft, ...secret })
        : call('identity_providers.update', { ...draft, ...secret, id: provider.id, version: provider.version });
    },
    onDone: (stored) => props.onDone(stored),
  });
  const redirect = provider?.redirect_uri ?? `${window.location.origin}${CALLBACK_PATH}`;

  return (
    <form class="stack" novalidate onSubmit={(event) => void form.submit(event)}>
      <FormField form={form} name="name" />
      <KeyValue items={[{ label: WORDS.redirect, value: redirect, mono: true, copy: redirect }]} />
      <p class="field-hint">{WORDS.redirect_hint}</p>
      <For each={['issuer', 'client_id', 'client_secret', 'scopes'] as const}>
        {(name) => <FormField form={form} name={name} stored={provider?.client_secret_set} />}
      </For>
      <h3>{WORDS.who}</h3>
      <For each={['create_people', 'allowed_domains', 'default_role', 'groups_claim'] as const}>
        {(name) => <FormField form={form} name={name} />}
      </For>
      <RolesByGroup
        value={form.values.role_by_group}
        error={form.error('role_by_group')}
        onChange={(roles) => form.set('role_by_group', roles)}
      />
      <FormField form={form} name="enabled" />
      <FormFoot form={form} submit={provider === undefined ? WORDS.add : WORDS.save} always onCancel={() => props.onCancel()} />
    </form>
  );
}

type Roles = Draft['role_by_group'];
interface Line {
  readonly group: string;
  readonly role: NonNullable<Role>;
}
const ROLES = ProvidedRole.options.toReversed().map((role) => ({ value: role, label: ROLE_CHOICES[role].label }));

/** Groups of the provider and the role of their members, one per line. A line without a group counts for nothing. */
function RolesByGroup(props: { value: Roles; error: string | undefined; onChange: (roles: Roles) => void }) {
  // Lines keep their place while a group is typed, which keys of a record would not.
  // oxlint-disable-next-line solid/reactivity
  const [lines, setLines] = createSignal<readonly Line[]>(Object.entries(props.value).map(([group, role]) => ({ group, role })));
  const change = (next: readonly Line[]) => {
    setLines(next);
    const named = next.map(({ group, role }) => [group.trim(), role] as const).filter(([group]) => group !== '');
    props.onChange(Object.fromEntries(named));
  };
  const put = (index: number, line: Partial<Line>) =>
    change(lines().map((old, at) => (at === index ? { ...old, ...line } : old)));
  return (
    <fieldset class="stack">
      <legend>{WORDS.roles}</legend>
      <p class="field-hint">{WORDS.roles_hint}</p>
      <Index each={lines()}>
        {(line, index) => (
          <div class="provider-role">
            <TextField label={WORDS.group} value={line().group} onInput={(group) => put(index, { group })} />
            <Select label={WORDS.role} options={ROLES} value={line().role} onChange={(role) => put(index, { role })} />
            <IconButton
              icon="trash"
              label={WORDS.remove_group(line().group)}
              onPress={() => change(lines().filter((_, at) => at !== index))}
            />
          </div>
        )}
      </Index>
      <Show when={props.error}>{(text) => <p class="field-error">{text()}</p>}</Show>
      <div>
        <Button size="small" icon="plus" onPress={() => change([...lines(), { group: '', role: 'viewer' }])}>
          {WORDS.add_group}
        </Button>
      </div>
    </fieldset>
  );
}

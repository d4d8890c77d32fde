import { For } from 'solid-js';
import type * as v from 'valibot';
import type { Scopes } from '#core/contract/identity/agent-access.ts';
import { operations } from '#core/contract/index.ts';
import { Checkbox } from '#ui/src/components/form/choice.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Fieldset } from '#ui/src/components/form/fieldset.tsx';
import { FormFoot } from '#ui/src/components/form/form-foot.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { createForm } from '#ui/src/kernel/form/form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { minuteChoices } from '#ui/src/kernel/words.ts';
import type { Made } from './credentials-panel.tsx';

type Scope = v.InferOutput<typeof Scopes>[number];
const SCOPES = [
  { scope: 'read', label: 'Read', hint: 'Read everything except secrets.' },
  { scope: 'write', label: 'Write', hint: 'Create, change, test, export and roll back.' },
  { scope: 'propose', label: 'Propose', hint: 'Read, test and propose changes, which wait for approval.' },
  { scope: 'deploy', label: 'Deploy', hint: 'Deploy and stop serving, without asking you.' },
] as const satisfies readonly { scope: Scope; label: string; hint: string }[];

interface Draft extends Record<string, unknown> {
  name: string;
  minutes: number;
  scopes: Scope[];
}

/** A token or a client; deploying is not given unless it is asked for. */
export function NewCredential(props: { kind: 'token' | 'client'; onDone: (made: Made) => void; onCancel: () => void }) {
  const { call } = useKernel();
  // A dialog is made anew for each kind.
  // oxlint-disable-next-line solid/reactivity
  const token = props.kind === 'token';
  const field = token ? 'duration_minutes' : 'idle_timeout_minutes';
  const form = createForm<Draft & Record<string, unknown>, Made>({
    schema: operations[token ? 'agent_tokens.create' : 'oauth_clients.create'].input,
    initial: () => ({ name: '', [field]: token ? 480 : 60, scopes: ['read', 'write'] }) as unknown as Draft,
    check: ({ scopes }) => (scopes.length === 0 ? { scopes: 'Choose at least one.' } : {}),
    async submit({ name, scopes, ...rest }) {
      const minutes = Number(rest[field]);
      if (token) {
        const made = await call('agent_tokens.create', { name, scopes, duration_minutes: minutes });
        return { name, credential: { token: made.token }, secrets: [{ label: 'Token', value: made.token }] };
      }
      const made = await call('oauth_clients.create', { name, scopes, idle_timeout_minutes: minutes });
      const secrets = [
        { label: 'Client ID', value: made.client_id },
        { label: 'Client secret', value: made.client_secret },
      ];
      return { name, credential: { client_id: made.client_id, client_secret: made.client_secret }, secrets };
    },
    onDone: (made) => props.onDone(made),
  });
  const toggle = (scope: Scope, wanted: boolean) =>
    form.set(
      'scopes',
      SCOPES.map((entry) => entry.scope).filter((entry) => (entry === scope ? wanted : form.values.scopes.includes(entry))),
    );

  return (
    <form class="stack" novalidate onSubmit={(event) => void form.submit(event)}>
      <TextField label="Name" hint="Shown in the history with everything it does." autofocus required {...form.text('name')} />
      <Select
        label={token ? 'Valid for' : 'Idle timeout'}
        options={token ? minuteChoices(15, 60, 480, 1_440, 4_320, 10_080) : minuteChoices(15, 60, 480, 1_440)}
        value={String(form.values[field])}
        onChange={(value) => form.set(field, Number(value))}
        error={form.error(field)}
      />
      <Fieldset label="Permissions" error={form.error('scopes')}>
        <div class="stack agents-choices">
          <For each={SCOPES}>
            {({ scope, label, hint }) => (
              <Checkbox
                label={label}
                hint={
                  scope === 'propose' && form.values.scopes.includes('write')
                    ? `${hint} With Write too, the agent makes changes directly, unless it asks for a proposal.`
                    : hint
                }
                checked={form.values.scopes.includes(scope)}
                onChange={(wanted) => toggle(scope, wanted)}
              />
            )}
          </For>
        </div>
      </Fieldset>
      <FormFoot form={form} submit={token ? 'Create token' : 'Create client'} always onCancel={() => props.onCancel()} />
    </form>
  );
}

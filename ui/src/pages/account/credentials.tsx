import { onMount } from 'solid-js';
import * as v from 'valibot';
import { operations } from '#core/contract/index.ts';
import { TextField } from '#ui/src/components/form/field.tsx';
import { FormFoot } from '#ui/src/components/form/form-foot.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { useForm } from '#ui/src/components/use-form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';

const Update = operations['auth.update_me'].input;
const Password = v.object({
  current_password: Update.entries.current_password,
  password: Update.entries.password.wrapped,
  again: v.string(),
});
const Name = v.object({ current_password: Update.entries.current_password, username: Update.entries.username.wrapped });

/** Name and password; both want the password that is valid now. */
export function Credentials() {
  const { call, session, toasts } = useKernel();
  const name = useForm({
    schema: Name,
    initial: () => ({ username: session.username(), current_password: '' }),
    submit: (values) => call('auth.update_me', values),
    onDone: ({ username }) => {
      name.reset({ username, current_password: '' });
      toasts.show('Name changed. Every other session has ended.', 'good');
      void session.load();
    },
  });
  const password = useForm({
    schema: Password,
    initial: () => ({ current_password: '', password: '', again: '' }),
    check: ({ password: chosen, again }) => (chosen === again ? {} : { again: 'The passwords don’t match.' }),
    submit: ({ current_password, password: chosen }) => call('auth.update_me', { current_password, password: chosen }),
    onDone: () => {
      password.reset({ current_password: '', password: '', again: '' });
      toasts.show('Password changed. Every other session has ended.', 'good');
    },
  });
  onMount(() => name.reset({ username: session.username(), current_password: '' }));

  return (
    <>
      <Section title="Name" lead="The name you sign in with. Changing it ends every other session.">
        <form class="stack" novalidate onSubmit={(event) => void name.submit(event)}>
          <TextField label="Username" autocomplete="username" required {...name.text('username')} />
          <TextField
            label="Current password"
            type="password"
            autocomplete="current-password"
            required
            {...name.text('current_password')}
          />
          <FormFoot form={name} submit="Change name" />
        </form>
      </Section>
      <Section title="Password" lead="At least 8 characters. Changing it ends every other session.">
        <form class="stack" novalidate onSubmit={(event) => void password.submit(event)}>
          <input
            type="text"
            class="visually-hidden"
            autocomplete="username"
            value={session.username()}
            aria-hidden="true"
            tabindex="-1"
            readonly
          />
          <TextField
            label="Current password"
            type="password"
            autocomplete="current-password"
            required
            {...password.text('current_password')}
          />
          <TextField label="New password" type="password" autocomplete="new-password" required {...password.text('password')} />
          <TextField
            label="Repeat new password"
            type="password"
            autocomplete="new-password"
            required
            {...password.text('again')}
          />
          <FormFoot form={password} submit="Change password" />
        </form>
      </Section>
    </>
  );
}

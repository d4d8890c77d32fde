import { onMount } from 'solid-js';
import * as v from 'valibot';
import { operations } from '#core/contract/index.ts';
import { TextField } from '#ui/src/components/form/field.tsx';
import { FormFoot } from '#ui/src/components/form/form-foot.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { useForm } from '#ui/src/components/use-form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { WORDS } from './words.ts';

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
      toasts.show(WORDS.name_saved, 'good');
      void session.load();
    },
  });
  const password = useForm({
    schema: Password,
    initial: () => ({ current_password: '', password: '', again: '' }),
    check: ({ password: chosen, again }) => (chosen === again ? {} : { again: WORDS.differ }),
    submit: ({ current_password, password: chosen }) => call('auth.update_me', { current_password, password: chosen }),
    onDone: () => {
      password.reset({ current_password: '', password: '', again: '' });
      toasts.show(WORDS.password_saved, 'good');
    },
  });
  onMount(() => name.reset({ username: session.username(), current_password: '' }));

  return (
    <>
      <Section title={WORDS.name_title} lead={WORDS.name_lead}>
        <form class="stack" novalidate onSubmit={(event) => void name.submit(event)}>
          <TextField label={WORDS.name} autocomplete="username" required {...name.text('username')} />
          <TextField
            label={WORDS.current}
            type="password"
            autocomplete="current-password"
            required
            {...name.text('current_password')}
          />
          <FormFoot form={name} submit={WORDS.save_name} />
        </form>
      </Section>
      <Section title={WORDS.password} lead={WORDS.password_lead}>
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
            label={WORDS.current}
            type="password"
            autocomplete="current-password"
            required
            {...password.text('current_password')}
          />
          <TextField
            label={WORDS.new_password}
            type="password"
            autocomplete="new-password"
            required
            {...password.text('password')}
          />
          <TextField label={WORDS.again} type="password" autocomplete="new-password" required {...password.text('again')} />
          <FormFoot form={password} submit={WORDS.save_password} />
        </form>
      </Section>
    </>
  );
}

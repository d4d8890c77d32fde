import { createSignal, untrack } from 'solid-js';
import type { OauthApp } from '#core/contract/identity/oauth.ts';
import { operations, type Output } from '#core/contract/index.ts';
import { Switch } from '#ui/src/components/form/choice.tsx';
import { TextArea, TextField } from '#ui/src/components/form/field.tsx';
import { FormFoot } from '#ui/src/components/form/form-foot.tsx';
import { createForm } from '#ui/src/kernel/form/form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { WORDS } from './words.ts';

export type Made = Output<'oauth_apps.create'>;

const toLines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

interface Draft extends Record<string, unknown> {
  name: string;
  redirect_uris: string[];
  confidential: boolean;
  trusted: boolean;
}

export function NewApp(props: { onDone: (app: Made) => void; onCancel: () => void }) {
  const { call } = useKernel();
  const form = createForm({
    schema: operations['oauth_apps.create'].input,
    initial: (): Draft => ({ name: '', redirect_uris: [], confidential: false, trusted: false }),
    submit: (values) => call('oauth_apps.create', values),
    onDone: (app) => props.onDone(app),
  });
  return (
    <form class="stack" novalidate onSubmit={(event) => void form.submit(event)}>
      <TextField label={WORDS.name} hint={WORDS.name_hint} autofocus required {...form.text('name')} />
      <Redirects
        value={form.values.redirect_uris}
        onChange={(lines) => form.set('redirect_uris', lines)}
        error={form.error('redirect_uris') ?? form.error('redirect_uris.0')}
      />
      <Switch
        label={WORDS.confidential}
        hint={WORDS.confidential_hint}
        checked={form.values.confidential}
        onChange={(on) => form.set('confidential', on)}
      />
      <Trusted checked={form.values.trusted} onChange={(on) => form.set('trusted', on)} />
      <FormFoot form={form} submit={WORDS.submit} always onCancel={() => props.onCancel()} />
    </form>
  );
}

export function EditApp(props: { app: OauthApp; onDone: () => void; onCancel: () => void }) {
  const { call } = useKernel();
  const form = createForm({
    schema: operations['oauth_apps.update'].input,
    initial: () => {
      const { id, version, name, redirect_uris, trusted } = props.app;
      return { id, version, name, redirect_uris: [...redirect_uris], trusted };
    },
    submit: (values) => call('oauth_apps.update', values),
    onDone: () => props.onDone(),
  });
  return (
    <form class="stack" novalidate onSubmit={(event) => void form.submit(event)}>
      <TextField label={WORDS.name} hint={WORDS.name_hint} autofocus required {...form.text('name')} />
      <Redirects
        value={form.values.redirect_uris}
        onChange={(lines) => form.set('redirect_uris', lines)}
        error={form.error('redirect_uris') ?? form.error('redirect_uris.0')}
      />
      <Trusted checked={form.values.trusted} onChange={(on) => form.set('trusted', on)} />
      <FormFoot form={form} submit={WORDS.save} always onCancel={() => props.onCancel()} />
    </form>
  );
}

function Redirects(props: { value: readonly string[]; onChange: (lines: string[]) => void; error: string | undefined }) {
  // Lines are cut off what is typed, so the text is kept as it is.
  const [text, setText] = createSignal(untrack(() => props.value.join('\n')));
  return (
    <TextArea
      label={WORDS.redirects}
      hint={WORDS.redirects_hint}
      required
      mono
      rows={3}
      placeholder="https://app.example.com/oauth/callback"
      value={text()}
      onInput={(typed) => {
        setText(typed);
        props.onChange(toLines(typed));
      }}
      error={props.error}
    />
  );
}

function Trusted(props: { checked: boolean; onChange: (on: boolean) => void }) {
  return <Switch label={WORDS.trusted} hint={WORDS.trusted_hint} checked={props.checked} onChange={props.onChange} />;
}

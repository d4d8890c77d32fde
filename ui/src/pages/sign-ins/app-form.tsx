import * as v from 'valibot';
import type { OauthApp } from '#core/contract/identity/oauth.ts';
import { operations, type Output } from '#core/contract/index.ts';
import { FormFoot } from '#ui/src/components/form/form-foot.tsx';
import { TypedField } from '#ui/src/components/form/typed-field.tsx';
import { FormField } from '#ui/src/fields/form-field.tsx';
import { fieldOf } from '#ui/src/fields/kind.ts';
import { useForm, useRecordForm } from '#ui/src/components/use-form.ts';
import { again } from '#ui/src/kernel/data/all-of.ts';
import type { Form } from '#ui/src/kernel/form/form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';

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
  const form = useForm({
    schema: operations['oauth_apps.create'].input,
    initial: (): Draft => ({ name: '', redirect_uris: [], confidential: false, trusted: false }),
    submit: (values) => call('oauth_apps.create', values),
    onDone: (app) => props.onDone(app),
  });
  return (
    <form class="stack" novalidate onSubmit={(event) => void form.submit(event)}>
      <FormField form={form} name="name" />
      <Redirects form={form} />
      <FormField form={form} name="confidential" />
      <FormField form={form} name="trusted" />
      <FormFoot form={form} submit="Create app" always onCancel={() => props.onCancel()} />
    </form>
  );
}

const toDraft = ({ name, redirect_uris, trusted }: OauthApp) => ({ name, redirect_uris: [...redirect_uris], trusted });

export function EditApp(props: { app: OauthApp; onDone: () => void; onCancel: () => void }) {
  const { call } = useKernel();
  const form = useRecordForm({
    record: () => props.app,
    kind: 'oauth_app',
    schema: v.omit(operations['oauth_apps.update'].input, ['id', 'version']),
    toValues: toDraft,
    unsaved: 'The changes to this application are not saved.',
    read: (app) => again(app, (skip, limit) => call('oauth_apps.list', { skip, limit })),
    save: (values, { id, version }) => call('oauth_apps.update', { id, version, ...values }),
    onDone: () => props.onDone(),
  });
  return (
    <form class="stack" novalidate onSubmit={(event) => void form.submit(event)}>
      <FormField form={form} name="name" />
      <Redirects form={form} />
      <FormField form={form} name="trusted" />
      <FormFoot form={form} submit="Save changes" always onCancel={() => props.onCancel()} />
    </form>
  );
}

function Redirects(props: { form: Form }) {
  // A form keeps its schema.
  // oxlint-disable-next-line solid/reactivity
  const { label, help } = fieldOf(props.form.schema, 'redirect_uris').marks;
  return (
    <TypedField
      label={label}
      hint={help}
      required
      rows={3}
      placeholder="https://app.example.com/oauth/callback"
      value={props.form.values['redirect_uris'] as readonly string[]}
      write={(lines) => lines.join('\n')}
      read={(text) => ({ value: toLines(text) })}
      onChange={(lines) => props.form.set('redirect_uris', lines)}
      error={props.form.errorWithin('redirect_uris')}
    />
  );
}

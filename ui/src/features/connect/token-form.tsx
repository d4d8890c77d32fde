import { operations, type Output } from '#core/contract/index.ts';
import type { McpToken } from '#core/contract/identity/mcp-tokens.ts';
import { FormFoot } from '#ui/src/components/form/form-foot.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { useForm, useRecordForm } from '#ui/src/components/use-form.ts';
import { FormField } from '#ui/src/fields/form-field.tsx';
import type { Form } from '#ui/src/kernel/form/form.ts';
import { again } from '#ui/src/kernel/data/all-of.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { minuteChoices } from '#ui/src/kernel/words.ts';
import { ClaimsField, ToolsetsField } from './token-access.tsx';

const IDLE = [{ value: '', label: 'Never' }, ...minuteChoices(60, 480, 1_440, 10_080, 43_200, 129_600)];

interface Values extends Record<string, unknown> {
  readonly name: string;
  readonly idle_timeout_minutes: number | null;
  readonly toolsets: string[] | null;
  readonly claims: Record<string, unknown>;
}
const toValues = ({ name, idle_timeout_minutes, toolsets, claims }: McpToken): Values => ({
  name,
  idle_timeout_minutes,
  toolsets: toolsets && [...toolsets],
  claims: { ...claims },
});
const BLANK: Values = { name: '', idle_timeout_minutes: null, toolsets: null, claims: {} };

export function NewToken(props: { onDone: (token: Output<'mcp_tokens.create'>) => void; onCancel: () => void }) {
  const { call } = useKernel();
  const form = useForm({
    schema: operations['mcp_tokens.create'].input,
    initial: () => BLANK,
    submit: (values) => call('mcp_tokens.create', values),
    onDone: (token) => props.onDone(token),
  });
  return <TokenFields form={form} submit="Create token" always onCancel={() => props.onCancel()} />;
}

export function EditToken(props: { token: McpToken; onDone: (token: McpToken) => void; onCancel: () => void }) {
  const { call } = useKernel();
  const form = useRecordForm({
    record: () => props.token,
    kind: 'mcp_token',
    // All fields are sent, so they are checked as those of a new one.
    schema: operations['mcp_tokens.create'].input,
    toValues,
    unsaved: 'The changes to this token are not saved.',
    async read(token) {
      const stored = await again(token, (skip, limit) => call('mcp_tokens.list', { skip, limit }));
      return stored?.revoked ? undefined : stored;
    },
    save: (values, { id, version }) => call('mcp_tokens.update', { id, version, ...values }),
    onDone: (token) => props.onDone(token),
  });
  return <TokenFields form={form} submit="Save token" onCancel={() => props.onCancel()} />;
}

function TokenFields(props: { form: Form<Values>; submit: string; always?: boolean; onCancel: () => void }) {
  const idle = () => {
    const minutes = String(props.form.values.idle_timeout_minutes ?? '');
    return IDLE.some(({ value }) => value === minutes) ? IDLE : [...IDLE, ...minuteChoices(Number(minutes))];
  };
  return (
    <form class="stack" novalidate onSubmit={(event) => void props.form.submit(event)}>
      <FormField form={props.form} name="name" />
      <Select
        label="Idle timeout"
        options={idle()}
        value={String(props.form.values.idle_timeout_minutes ?? '')}
        onChange={(value: string) => props.form.set('idle_timeout_minutes', value === '' ? null : Number(value))}
        error={props.form.error('idle_timeout_minutes')}
      />
      <ToolsetsField
        value={props.form.values.toolsets}
        onChange={(value) => props.form.set('toolsets', value)}
        error={props.form.errorWithin('toolsets')}
      />
      <ClaimsField
        value={props.form.values.claims}
        onChange={(value) => props.form.set('claims', value)}
        error={props.form.error('claims')}
      />
      <FormFoot form={props.form} submit={props.submit} always={props.always === true} onCancel={() => props.onCancel()} />
    </form>
  );
}

import { For } from 'solid-js';
import { operations, type Output } from '#core/contract/index.ts';
import { NOTICE_EVENTS, type Notice, type NoticeEvent } from '#core/contract/notices.ts';
import { Checkbox } from '#ui/src/components/form/choice.tsx';
import { Fieldset } from '#ui/src/components/form/fieldset.tsx';
import { FormFoot } from '#ui/src/components/form/form-foot.tsx';
import { useForm, useRecordForm } from '#ui/src/components/use-form.ts';
import { FormField } from '#ui/src/fields/form-field.tsx';
import { again } from '#ui/src/kernel/data/all-of.ts';
import type { Form } from '#ui/src/kernel/form/form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { EVENT_LABELS } from '#ui/src/kernel/record-words.ts';
import { EVENT_HINTS } from './words.ts';

interface Values extends Record<string, unknown> {
  readonly name: string;
  readonly url: string;
  readonly events: readonly NoticeEvent[];
}
const toValues = ({ name, url, events }: Notice): Values => ({ name, url, events });
const BLANK: Values = { name: '', url: '', events: ['deploy', 'rollback', 'host_gone', 'certificate'] };

export function NewWebhook(props: { onDone: (notice: Output<'notices.create'>) => void; onCancel: () => void }) {
  const { call } = useKernel();
  const form = useForm({
    schema: operations['notices.create'].input,
    initial: () => BLANK,
    submit: ({ name, url, events }) => call('notices.create', { name, url, events: [...events] }),
    onDone: (notice) => props.onDone(notice),
  });
  return <WebhookFields form={form} submit="Create webhook" always onCancel={() => props.onCancel()} />;
}

export function EditWebhook(props: { notice: Notice; onDone: (notice: Notice) => void; onCancel: () => void }) {
  const { call } = useKernel();
  const form = useRecordForm({
    record: () => props.notice,
    kind: 'notice',
    schema: operations['notices.create'].input,
    toValues,
    unsaved: 'The changes to this webhook are not saved.',
    read: (notice) => again(notice, (skip, limit) => call('notices.list', { skip, limit })),
    save: ({ name, url, events }, { id, version }) => call('notices.update', { id, version, name, url, events: [...events] }),
    onDone: (notice) => props.onDone(notice),
  });
  return <WebhookFields form={form} submit="Save webhook" onCancel={() => props.onCancel()} />;
}

function WebhookFields(props: { form: Form<Values>; submit: string; always?: boolean; onCancel: () => void }) {
  const choose = (event: NoticeEvent, chosen: boolean) => {
    const { events } = props.form.values;
    props.form.set(
      'events',
      NOTICE_EVENTS.filter((name) => (name === event ? chosen : events.includes(name))),
    );
  };
  return (
    <form class="stack" novalidate onSubmit={(event) => void props.form.submit(event)}>
      <FormField form={props.form} name="name" />
      <FormField form={props.form} name="url" />
      <Fieldset label="Events" error={props.form.error('events')}>
        <div class="stack">
          <For each={NOTICE_EVENTS}>
            {(event) => (
              <Checkbox
                label={EVENT_LABELS[event]}
                hint={EVENT_HINTS[event]}
                checked={props.form.values.events.includes(event)}
                onChange={(chosen) => choose(event, chosen)}
              />
            )}
          </For>
        </div>
      </Fieldset>
      <FormFoot form={props.form} submit={props.submit} always={props.always === true} onCancel={() => props.onCancel()} />
    </form>
  );
}

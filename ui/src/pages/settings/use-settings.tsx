import { type JSX, Show } from 'solid-js';
import { type ServerConfig, ServerConfigPatch } from '#core/contract/config.ts';
import type { Change } from '#core/contract/deploy/deploy.ts';
import { Button } from '#ui/src/components/button.tsx';
import { FormFoot } from '#ui/src/components/form-foot.tsx';
import { useForm } from '#ui/src/components/use-form.ts';
import { FIELD_LABELS } from '#ui/src/kernel/deploy-changes.ts';
import type { Form, FormOptions } from '#ui/src/kernel/form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { changesOf } from '#ui/src/kernel/settings-draft.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { WORDS } from './words.ts';

type Shape = Record<string, unknown>;

/** What every part of the settings gets. */
export interface PartProps {
  config: ServerConfig;
  /** What the deployed version has, where the working copy differs. */
  pending: Change['values'];
  onSaved: (config: ServerConfig) => void;
}

/** A part of the configuration as a form; somebody else's change meanwhile becomes a choice. */
export function useSettings<T extends Shape>(
  props: PartProps,
  draft: (config: ServerConfig) => T,
  options: Partial<Pick<FormOptions<T, ServerConfig>, 'schema' | 'check'>> & {
    readonly patch?: (values: T) => ServerConfigPatch;
  } = {},
): Form<T> {
  const { call, toasts } = useKernel();
  // What the form began with; the optimistic lock meets what came later.
  // oxlint-disable-next-line solid/reactivity
  let stored = props.config;
  const patch = options.patch ?? ((values: T) => changesOf(draft(stored), values));
  const form = useForm<T, ServerConfig>({
    schema: options.schema ?? ServerConfigPatch,
    ...(options.check === undefined ? {} : { check: options.check }),
    initial: () => draft(stored),
    unsaved: WORDS.unsaved,
    labels: FIELD_LABELS,
    latest: async () => {
      stored = await call('config.get', {});
      return draft(stored);
    },
    submit: (values) => call('config.update', { ...patch(values), version: stored.version }),
    onDone: (config) => {
      stored = config;
      form.reset(draft(config));
      toasts.show(WORDS.saved, 'good');
      props.onSaved(config);
    },
  });
  return form;
}

/** What the field is for, and what is live while the change waits for a deploy. */
export function hint(pending: Change['values'], field: string, text?: JSX.Element): JSX.Element {
  return (
    <Show when={pending[field]} fallback={text}>
      {(change) => (
        <>
          {text} <span class="settings-pending">{WORDS.live(shown(change().old))}</span>
        </>
      )}
    </Show>
  );
}

const shown = (value: unknown): string => {
  if (typeof value === 'string' && value !== '') return value;
  if (value === null || value === undefined || value === '') return 'nothing';
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  return typeof value === 'object' ? plural(Object.keys(value).length, 'entry', 'entries') : JSON.stringify(value);
};

/** Save and discard, below every part. */
export function SettingsFoot<T extends Shape>(props: { form: Form<T> }) {
  return (
    <FormFoot form={props.form} submit={WORDS.save}>
      <Show when={props.form.dirty()}>
        <Button kind="quiet" onPress={() => props.form.reset()}>
          {WORDS.discard}
        </Button>
      </Show>
    </FormFoot>
  );
}

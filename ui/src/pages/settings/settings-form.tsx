import { createContext, createEffect, For, type JSX, on, useContext } from 'solid-js';
import { type ServerConfig, ServerConfigPatch } from '#core/contract/settings/config.ts';
import type { SnapshotChange } from '#core/contract/deploy/deploy.ts';
import { FormFoot } from '#ui/src/components/form/form-foot.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { useForm } from '#ui/src/components/use-form.ts';
import { Dynamic } from 'solid-js/web';
import { FormField } from '#ui/src/fields/form-field.tsx';
import { SecretFormField } from '#ui/src/fields/secret-field.tsx';
import { fieldOf } from '#ui/src/fields/kind.ts';
import type { Form, FormOptions } from '#ui/src/kernel/form/form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { same } from '#ui/src/kernel/form/merge.ts';
import { changesOf, draftOf, type Effect, effectOf, type Part, PARTS, type SettingsDraft } from './settings-draft.ts';
import { firstLine, plural } from '#ui/src/kernel/words.ts';

type Shape = Record<string, unknown>;

/** Props of every page of the settings. */
export interface PartProps {
  part: Part;
  config: ServerConfig;
  /** The deployed values, where the working copy differs. */
  pending: SnapshotChange['values'];
  onSaved: () => void;
}

interface CustomForm<T extends Shape> extends Partial<Pick<FormOptions<T, ServerConfig>, 'schema' | 'check'>> {
  readonly draft: (config: ServerConfig) => T;
  readonly patch: (values: T) => ServerConfigPatch;
}

/** A page of the settings as a form; a concurrent change by another person opens the conflict dialog. */
export function useSettings<T extends Shape = SettingsDraft>(props: PartProps, custom?: CustomForm<T>): Form<T> {
  const { call, toasts } = useKernel();
  // The stored settings of the form; later changes cause a version conflict on save.
  // oxlint-disable-next-line solid/reactivity
  let stored = props.config;
  // oxlint-disable-next-line solid/reactivity
  const { part } = props;
  const draft = custom?.draft ?? ((config: ServerConfig) => draftOf(part, config) as Shape as T);
  const patch = custom?.patch ?? ((values: T) => changesOf(draft(stored), values));
  const form = useForm<T, ServerConfig>({
    schema: custom?.schema ?? ServerConfigPatch,
    ...(custom?.check === undefined ? {} : { check: custom.check }),
    initial: () => draft(stored),
    unsaved: 'The changes to these settings are not saved.',
    latest: async () => {
      stored = await call('config.get', {});
      return draft(stored);
    },
    recorded: () => ({ type: 'server_config', id: 'server_config' }),
    submit: (values) => call('config.update', { ...patch(values), version: stored.version }),
    onDone: (config) => {
      stored = config;
      form.stored(draft(config));
      toasts.show('Saved.', 'good');
      props.onSaved();
    },
  });
  // Changes by other people are adopted automatically, unless they touch edited settings.
  createEffect(
    on(
      () => props.config,
      (config) => {
        if (config.version <= stored.version) return;
        const elsewhere = same(draft(config), draft(stored));
        if (!elsewhere && form.dirty()) return;
        stored = config;
        if (!elsewhere) form.reset(draft(config));
      },
      { defer: true },
    ),
  );
  return form;
}

interface Current extends Pick<PartProps, 'pending'> {
  readonly form: Form;
  readonly effect: Effect;
}
const CurrentForm = createContext<Current>();

const EFFECT: Readonly<Record<Effect, string>> = {
  save: 'Changes on this page take effect as soon as you save.',
  deploy: 'Changes on this page take effect at the next deploy.',
  both: 'Changes on this page take effect at the next deploy, unless a section says otherwise.',
};

/** The form of a page: its fields, when a change takes effect, and the buttons. */
export function SettingsForm(props: { of: PartProps; form: Form; children: JSX.Element }) {
  const effect = () => effectOf(PARTS[props.of.part].fields);
  const current: Current = {
    get form() {
      return props.form;
    },
    get effect() {
      return effect();
    },
    get pending() {
      return props.of.pending;
    },
  };
  return (
    <form class="stack settings-form" novalidate onSubmit={(event) => void props.form.submit(event)}>
      <p class="soft small">{EFFECT[effect()]}</p>
      <CurrentForm.Provider value={current}>{props.children}</CurrentForm.Provider>
      <FormFoot form={props.form} submit="Save" />
    </form>
  );
}

/** Settings under one heading, rendered from the contract. */
export function SettingsSection(props: { title: string; lead?: string; fields: readonly string[]; children?: JSX.Element }) {
  const current = useContext(CurrentForm);
  const lead = () =>
    current?.effect === 'both' && effectOf(props.fields) === 'save'
      ? [props.lead, 'Changes here take effect as soon as you save.'].filter(Boolean).join(' ')
      : props.lead;
  return (
    <Section title={props.title} lead={lead()}>
      <For each={props.fields}>{(name) => <Setting name={name} />}</For>
      {props.children}
    </Section>
  );
}

/** One setting. `secret`: it has a secret; `stored`: which is stored here. */
export function Setting(props: { name: string; secret?: boolean; stored?: boolean; columns?: 1 | 2 | 3 }) {
  const current = useContext(CurrentForm);
  if (current === undefined) throw new Error('A setting stands in a form of settings.');
  const marks = () => fieldOf(current.form.schema, props.name).marks;
  return (
    <Dynamic
      component={props.secret === true ? SecretFormField : FormField}
      form={current.form}
      name={props.name}
      stored={props.stored}
      columns={props.columns ?? 1}
      // Undefined when there is nothing to add, so that the field shows the contract's help.
      hint={
        current.pending[props.name] === undefined ? undefined : (
          <>
            {marks().help} <Live value={labelOf(marks().choices, current.pending[props.name]?.old)} />
          </>
        )
      }
    />
  );
}

/** The label of an option. */
const labelOf = (choices: Readonly<Record<string, { readonly label: string }>> | undefined, value: unknown): unknown =>
  choices?.[String(value)]?.label ?? value;

/** The served value while a change waits for a deploy. */
export const Live = (props: { value: unknown }) => (
  <span class="not-live">Live until the next deploy: {inWords(props.value)}</span>
);

function inWords(value: unknown): string {
  if (value === null || value === undefined || value === '') return 'not set';
  if (typeof value === 'string') return firstLine(value);
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  return typeof value === 'object' ? plural(Object.keys(value).length, 'entry', 'entries') : JSON.stringify(value);
}

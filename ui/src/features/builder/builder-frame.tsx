import { createEffect, createSignal, type JSX, on, onCleanup, onMount, Show, untrack } from 'solid-js';
import { Fixed } from '#ui/src/components/form/fixed.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Fault, Notice } from '#ui/src/components/notice.tsx';
import { Tabs } from '#ui/src/components/tabs.tsx';
import { withMod } from '#ui/src/kernel/keys.ts';
import { useCommands, useKernel } from '#ui/src/kernel/kernel.ts';
import { ROLE_CHOICES } from '#core/contract/roles.ts';
import { useAskAdministrator } from '#ui/src/fields/administered.ts';
import type { DefinitionDraft } from './definition-draft.ts';
import { LintOf, ModelView, ScriptView, TestList } from './lazy-views.tsx';
import { wayOut } from './way-out.tsx';
import './builder.css';

/** The form at the left and what it does at the right, or below on a small screen. Ctrl S saves, Ctrl Enter runs. */
export function BuilderFrame(props: {
  draft: DefinitionDraft;
  preview: () => JSX.Element;
  /** Absent: it has no statement. */
  schema?: () => JSX.Element;
  plan?: () => JSX.Element;
  children: JSX.Element;
}) {
  const { session } = useKernel();
  // Each page has one draft.
  // oxlint-disable-next-line solid/reactivity
  const { draft } = props;
  const { form, kind, stored } = draft;
  const is_new = untrack(stored) === undefined;
  const save_label = `${is_new ? 'Create' : 'Save'} ${kind}`;
  /** Tools, resources and prompts are edited by the same roles. */
  const fixed = () => !session.may('tools.update');
  const ask = useAskAdministrator(fixed);
  const tests = () => (
    <Show when={stored()}>{(record) => <TestList owner={{ kind, id: record().id }} owner_name={record().name} />}</Show>
  );
  const [element, setElement] = createSignal<HTMLFormElement>();
  const [checks, setChecks] = createSignal<'findings' | 'tests'>('findings');
  const save = () => element()?.requestSubmit();
  let aside: HTMLElement | undefined;
  createEffect(
    on(
      draft.reveal,
      () => {
        if (aside !== undefined && aside.getBoundingClientRect().top > window.innerHeight * 0.75)
          aside.scrollIntoView({ block: 'start' });
      },
      { defer: true },
    ),
  );

  const press = (event: KeyboardEvent) => {
    if (fixed() || event.defaultPrevented || !(event.ctrlKey || event.metaKey)) return;
    // They are meant for the dialog above.
    if (document.querySelector('.overlay-place') !== null) return;
    if (event.key.toLowerCase() === 's' && !event.shiftKey && !event.altKey) save();
    else if (event.key === 'Enter') draft.run();
    else return;
    event.preventDefault();
  };
  onMount(() => {
    window.addEventListener('keydown', press);
    onCleanup(() => window.removeEventListener('keydown', press));
  });
  useCommands([
    { id: 'builder:save', title: save_label, group: 'This page', keywords: 'ctrl s', needs: 'tools.update', run: save },
    {
      id: 'builder:run',
      title: 'Run the preview',
      group: 'This page',
      keywords: 'ctrl enter',
      needs: 'preview.execute',
      run: () => draft.run(),
    },
  ]);

  return (
    <div class="page-columns builder" data-fixed={fixed() ? 'true' : undefined}>
      <form ref={setElement} class="stack" novalidate onSubmit={(event) => void form.submit(event)}>
        <Show when={fixed()}>
          <Notice>{`You can view this ${kind} but not change it. Changing it requires the role ${ROLE_CHOICES.editor.label}. ${ask()}`}</Notice>
        </Show>
        <Fixed when={fixed()}>{props.children}</Fixed>
        <Show when={!fixed()}>
          <div class="sticky-foot builder-foot">
            <Fault text={form.problem()?.detail} action={wayOut(draft, form.problem())} />
            <div class="row">
              <Button type="submit" kind="primary" busy={form.busy()} blocked={!is_new && !form.dirty()}>
                {save_label}
                <kbd>{withMod('S')}</kbd>
              </Button>
              <Show when={form.dirty() && !form.busy()}>
                <Button onPress={() => form.reset()}>Discard</Button>
                <span class="small faint">Not saved yet</span>
              </Show>
            </div>
          </div>
        </Show>
      </form>
      <Show when={!fixed()}>
        <aside
          ref={(element) => {
            aside = element;
          }}
          class="builder-side panel"
          aria-label="What it does"
        >
          <Tabs
            label="What it does"
            value={draft.side()}
            onChange={(side) => draft.setSide(side)}
            tabs={[
              { value: 'preview', label: 'Preview', panel: () => props.preview() },
              ...(props.schema === undefined
                ? []
                : [{ value: 'schema' as const, label: 'Schema', panel: () => props.schema?.() }]),
              ...(props.plan === undefined ? [] : [{ value: 'plan' as const, label: 'Plan', panel: () => props.plan?.() }]),
              { value: 'model', label: 'What the model sees', panel: () => <ModelView draft={draft} /> },
              { value: 'script', label: 'From a script', panel: () => <ScriptView draft={draft} /> },
              ...(is_new ? [] : [{ value: 'tests' as const, label: 'Tests', panel: tests }]),
            ]}
          />
        </aside>
      </Show>
      <Show when={fixed() && stored()}>
        <aside class="builder-side panel" aria-label="Checks">
          <Tabs
            label="Checks"
            value={checks()}
            onChange={setChecks}
            tabs={[
              { value: 'findings', label: 'Findings', panel: () => <LintOf owner={`${kind}:${stored()?.id}`} /> },
              { value: 'tests', label: 'Tests', panel: tests },
            ]}
          />
        </aside>
      </Show>
    </div>
  );
}

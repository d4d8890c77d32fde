import { createEffect, createSignal, type JSX, on, onCleanup, onMount, Show } from 'solid-js';
import { Fixed } from '#ui/src/components/form/fixed.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Fault } from '#ui/src/components/notice.tsx';
import { Tabs } from '#ui/src/components/tabs.tsx';
import { withMod } from '#ui/src/kernel/keys.ts';
import { useCommands, useKernel } from '#ui/src/kernel/kernel.ts';
import type { Problem } from '#ui/src/kernel/problem.ts';
import './builder.css';

export const SIDES = ['preview', 'plan', 'model', 'script', 'tests'] as const;
export type Side = (typeof SIDES)[number];

interface Saved {
  readonly problem: () => Problem | undefined;
  readonly busy: () => boolean;
  readonly dirty: () => boolean;
  readonly submit: (event?: Event) => Promise<boolean>;
  readonly reset: () => void;
}

interface BuilderFrameProps {
  form: Saved;
  /** A new record can be saved as it is. */
  fresh: boolean;
  save: string;
  side: Side;
  onSide: (side: Side) => void;
  preview: () => JSX.Element;
  /** Absent: it has no statement. */
  plan?: (() => JSX.Element) | undefined;
  model: () => JSX.Element;
  script: () => JSX.Element;
  /** Absent while it is not stored. */
  tests?: (() => JSX.Element) | undefined;
  /** What lint found in the stored record, for those who cannot change it. Absent while it is not stored. */
  findings?: (() => JSX.Element) | undefined;
  onRun: () => void;
  /** Raised when somebody wants to see what it does: below the form of a small screen it is out of sight. */
  reveal: number;
  children: JSX.Element;
}

/** What is written at the left, what it does at the right; on a small screen one below the other. Ctrl S saves, Ctrl Enter runs. */
export function BuilderFrame(props: BuilderFrameProps) {
  const { session } = useKernel();
  /** Tools, resources and prompts are written by the same roles. */
  const fixed = () => !session.may('tools.update');
  const [element, setElement] = createSignal<HTMLFormElement>();
  const [checks, setChecks] = createSignal<'findings' | 'tests'>('findings');
  const save = () => element()?.requestSubmit();
  let aside: HTMLElement | undefined;
  createEffect(
    on(
      () => props.reveal,
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
    else if (event.key === 'Enter') props.onRun();
    else return;
    event.preventDefault();
  };
  onMount(() => {
    window.addEventListener('keydown', press);
    onCleanup(() => window.removeEventListener('keydown', press));
  });
  // What the page can do does not change while it is there.
  // oxlint-disable-next-line solid/reactivity
  const title = props.save;
  useCommands([
    { id: 'builder:save', title, group: 'This page', keywords: 'ctrl s', needs: 'tools.update', run: save },
    {
      id: 'builder:run',
      title: 'Run the preview',
      group: 'This page',
      keywords: 'ctrl enter',
      needs: 'preview.execute',
      run: () => props.onRun(),
    },
  ]);

  return (
    <div class="page-columns builder" data-fixed={fixed() ? 'true' : undefined}>
      <form ref={setElement} class="stack" novalidate onSubmit={(event) => void props.form.submit(event)}>
        <Fixed when={fixed()}>{props.children}</Fixed>
        <Show when={!fixed()}>
          <div class="builder-foot">
            <Fault text={props.form.problem()?.detail} />
            <div class="row">
              <Button type="submit" kind="primary" busy={props.form.busy()} blocked={!props.fresh && !props.form.dirty()}>
                {props.save}
                <kbd>{withMod('S')}</kbd>
              </Button>
              <Show when={props.form.dirty() && !props.form.busy()}>
                <Button onPress={() => props.form.reset()}>Discard</Button>
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
            value={props.side}
            onChange={(side) => props.onSide(side)}
            tabs={[
              { value: 'preview', label: 'Preview', panel: () => props.preview() },
              ...(props.plan === undefined ? [] : [{ value: 'plan' as const, label: 'Plan', panel: () => props.plan?.() }]),
              { value: 'model', label: 'What the model sees', panel: () => props.model() },
              { value: 'script', label: 'From a script', panel: () => props.script() },
              ...(props.tests === undefined ? [] : [{ value: 'tests' as const, label: 'Tests', panel: () => props.tests?.() }]),
            ]}
          />
        </aside>
      </Show>
      <Show when={fixed() && props.tests !== undefined}>
        <aside class="builder-side panel" aria-label="Checks">
          <Tabs
            label="Checks"
            value={checks()}
            onChange={setChecks}
            tabs={[
              { value: 'findings', label: 'Findings', panel: () => props.findings?.() },
              { value: 'tests', label: 'Tests', panel: () => props.tests?.() },
            ]}
          />
        </aside>
      </Show>
    </div>
  );
}

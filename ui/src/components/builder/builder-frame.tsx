import { createEffect, createSignal, type JSX, on, onCleanup, onMount, Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Tabs } from '#ui/src/components/tabs.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import type { Problem } from '#ui/src/kernel/problem.ts';
import { BUILDER_WORDS as WORDS } from './words.ts';
import './builder.css';

export type Side = 'preview' | 'model' | 'script';

interface Saved {
  readonly problem: () => Problem | undefined;
  readonly busy: () => boolean;
  readonly dirty: () => boolean;
  readonly submit: (event?: Event) => Promise<boolean>;
}

interface BuilderFrameProps {
  form: Saved;
  /** A new record can be saved as it is. */
  fresh: boolean;
  save: string;
  side: Side;
  onSide: (side: Side) => void;
  preview: () => JSX.Element;
  model: () => JSX.Element;
  script: () => JSX.Element;
  onRun: () => void;
  /** Raised when somebody wants to see what it does: below the form of a small screen it is out of sight. */
  reveal: number;
  children: JSX.Element;
}

/** What is written at the left, what it does at the right; on a small screen one below the other. Ctrl S saves, Ctrl Enter runs. */
export function BuilderFrame(props: BuilderFrameProps) {
  const { commands } = useKernel();
  const [element, setElement] = createSignal<HTMLFormElement>();
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
    if (event.defaultPrevented || !(event.ctrlKey || event.metaKey)) return;
    if (event.key === 's') save();
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
  onCleanup(
    commands.register([
      { id: 'builder:save', title, group: 'This page', keywords: 'ctrl s', run: save },
      { id: 'builder:run', title: 'Run the preview', group: 'This page', keywords: 'ctrl enter', run: () => props.onRun() },
    ]),
  );

  return (
    <div class="builder">
      <form ref={setElement} class="builder-main" novalidate onSubmit={(event) => void props.form.submit(event)}>
        {props.children}
        <div class="builder-foot">
          <Show when={props.form.problem()}>
            {(problem) => (
              <Notice tone="bad" live>
                <p>{problem().detail}</p>
              </Notice>
            )}
          </Show>
          <div class="row">
            <Button type="submit" kind="primary" busy={props.form.busy()} blocked={!props.fresh && !props.form.dirty()}>
              {props.save}
              <kbd>Ctrl S</kbd>
            </Button>
            <Show when={props.form.dirty() && !props.form.busy()}>
              <span class="small faint">Not saved yet</span>
            </Show>
          </div>
        </div>
      </form>
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
            { value: 'preview', label: WORDS.preview, panel: () => props.preview() },
            { value: 'model', label: WORDS.model, panel: () => props.model() },
            { value: 'script', label: WORDS.call, panel: () => props.script() },
          ]}
        />
      </aside>
    </div>
  );
}

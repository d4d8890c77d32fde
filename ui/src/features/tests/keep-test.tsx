import { createSignal, Show } from 'solid-js';
import { lazyPart } from '#ui/src/components/show/lazy-part.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { useAct } from '#ui/src/components/use-act.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import type { NewTest } from './expectation.ts';

const TestEditor = lazyPart(async () => (await import('./test-editor.tsx')).TestEditor);

/** Keeps a result as a test of its definition. */
export function KeepTest(props: { about: () => Promise<NewTest | undefined> | NewTest | undefined }) {
  const { session, toasts } = useKernel();
  const { act } = useAct();
  const [test, setTest] = createSignal<NewTest>();
  const open = async () => {
    // When the button is pressed.
    // oxlint-disable-next-line solid/reactivity
    const found = await act(async () => ({ about: await props.about() }));
    if (found !== undefined && found.about === undefined)
      toasts.show('The definition of this result was deleted or renamed. Run it again under its new name.', 'bad');
    setTest(found?.about);
  };
  return (
    <>
      <Button size="small" icon="check" blocked={!session.may('tests.create')} needs="tests.create" onPress={() => open()}>
        Keep as test
      </Button>
      <Show when={test()}>
        <TestEditor test={test()} onClose={() => setTest(undefined)} />
      </Show>
    </>
  );
}

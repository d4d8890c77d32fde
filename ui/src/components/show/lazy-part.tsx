import { type Component, createSignal, onCleanup, Show } from 'solid-js';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { loadCode } from '#ui/src/kernel/data/load-code.ts';

const RETRY_MS = 3_000;
const UNLOADED =
  'A part of this page could not be loaded. Check your connection, and reload the page in case Sluice was updated.';

/** A component whose code is loaded on first render; it renders nothing until then. A failed load is reported and retried. */
export function lazyPart<P extends object>(load: () => Promise<Component<P>>): Component<P> {
  const [part, setPart] = createSignal<Component<P>>();
  let loading: Promise<void> | undefined;
  const start = () => {
    loading ??= loadCode(load)
      .then((loaded) => void setPart(() => loaded))
      .finally(() => (loading = undefined));
    return loading;
  };
  return (props) => {
    const { toasts } = useKernel();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let hide: (() => void) | undefined;
    let gone = false;
    const attempt = async () => {
      try {
        await start();
        hide?.();
      } catch (fault) {
        if (gone) return;
        // oxlint-disable-next-line no-console
        console.error(fault);
        hide ??= toasts.keep(UNLOADED, 'bad', { action: { label: 'Reload', run: () => window.location.reload() } });
        timer = setTimeout(() => void attempt(), RETRY_MS);
      }
    };
    if (part() === undefined) void attempt();
    onCleanup(() => {
      gone = true;
      clearTimeout(timer);
      hide?.();
    });
    return (
      <Show when={part()} keyed>
        {(Part) => <Part {...props} />}
      </Show>
    );
  };
}

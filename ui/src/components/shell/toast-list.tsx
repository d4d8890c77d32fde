import { For, onCleanup, Show } from 'solid-js';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Icon } from '#ui/src/components/icon.tsx';
import { Sentence } from '#ui/src/components/show/sentence.tsx';

export function ToastList() {
  const { toasts } = useKernel();
  // On narrow screens dialogs begin below them. Without any, its padding alone has a height.
  const sizes = new ResizeObserver(([list]) => {
    const px = list?.target.childElementCount === 0 ? 0 : (list?.borderBoxSize[0]?.blockSize ?? 0);
    document.documentElement.style.setProperty('--toasts', `${px}px`);
  });
  onCleanup(() => sizes.disconnect());
  return (
    // The attribute keeps an open dialog from taking a press here for one beside it.
    <div
      ref={(element) => sizes.observe(element)}
      class="toasts"
      role="status"
      aria-live="polite"
      data-kb-top-layer=""
      onPointerEnter={() => toasts.hold(true)}
      onPointerLeave={() => toasts.hold(false)}
      onFocusIn={() => toasts.hold(true)}
      onFocusOut={() => toasts.hold(false)}
    >
      <For each={toasts.list()}>
        {(toast) => (
          <div class="toast" data-tone={toast.tone}>
            <Icon name={toast.tone === 'bad' ? 'alert' : toast.tone === 'good' ? 'check' : 'info'} />
            <span>
              <Sentence>{toast.text}</Sentence>
            </span>
            <span class="toast-ways">
              <Show when={toast.action}>
                {(action) => (
                  <Button
                    kind="quiet"
                    size="small"
                    onPress={() => {
                      toasts.dismiss(toast.id);
                      action().run();
                    }}
                  >
                    {action().label}
                  </Button>
                )}
              </Show>
              <Button kind="quiet" shape="icon" size="small" label="Dismiss" onPress={() => toasts.dismiss(toast.id)}>
                <Icon name="close" size={12} />
              </Button>
            </span>
          </div>
        )}
      </For>
    </div>
  );
}

import { For } from 'solid-js';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

export function ToastList() {
  const { toasts } = useKernel();
  return (
    <div class="toasts" role="status" aria-live="polite">
      <For each={toasts.list()}>
        {(toast) => (
          <div class="toast" data-tone={toast.tone}>
            <Icon name={toast.tone === 'bad' ? 'alert' : toast.tone === 'good' ? 'check' : 'info'} />
            <span>{toast.text}</span>
            <Button kind="quiet" shape="icon" size="small" label="Dismiss" onPress={() => toasts.dismiss(toast.id)}>
              <Icon name="close" size={12} />
            </Button>
          </div>
        )}
      </For>
    </div>
  );
}

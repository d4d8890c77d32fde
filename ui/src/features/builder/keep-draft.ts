import { createEffect, on, onCleanup, onMount } from 'solid-js';
import { createDraftStore } from '#ui/src/kernel/form/draft-store.ts';
import type { Form } from '#ui/src/kernel/form/form.ts';
import { useMayOpen } from '#ui/src/components/shell/route-context.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { browserStorage } from '#ui/src/kernel/storage.ts';
import { changedFields } from './drafts.ts';

const PAUSE_MS = 400;

/**
 * Stores the draft of a form until it is saved or discarded: a page that is reloaded, or left because the session ended, starts with it.
 * @param version of the stored record; null while it is new.
 */
export function keepDraft<D extends Record<string, unknown>>(form: Form<D>, version: () => number | null): void {
  const { router, session, toasts } = useKernel();
  const drafts = createDraftStore(browserStorage);
  const mayOpen = useMayOpen();
  const path = router.path();
  const key = `${session.username()} ${path}?${router.query().toString()}`;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const keep = () => {
    clearTimeout(timer);
    const names = form.changed();
    const draft = { fields: changedFields(form.snapshot(), names), version: version() };
    drafts.keep(key, names.length === 0 ? undefined : draft);
  };

  onMount(() => {
    const stored = drafts.read(key);
    if (stored !== undefined) {
      const known = Object.entries(stored.fields).filter(([name]) => Object.hasOwn(form.base(), name));
      form.change((draft) => void Object.assign(draft, Object.fromEntries(known)));
    }
    if (stored !== undefined && form.dirty()) {
      const since = stored.version !== version() ? ' The stored version has changed since: compare before you save.' : '';
      toasts.show(`Your unsaved changes are back.${since}`, 'plain', { action: { label: 'Discard', run: () => form.reset() } });
    }
    createEffect(
      on(
        () => JSON.stringify(form.values),
        () => {
          clearTimeout(timer);
          timer = setTimeout(keep, PAUSE_MS);
        },
        { defer: true },
      ),
    );
    window.addEventListener('pagehide', keep);
  });
  onCleanup(() => {
    clearTimeout(timer);
    window.removeEventListener('pagehide', keep);
    // A person who navigates has confirmed to discard the draft; one whose session ended, or whose role no longer allows the
    // page, has not.
    if (session.state() === 'signed_in' && mayOpen(path)) drafts.keep(key, undefined);
    else keep();
  });
}

import { createEffect, on, onCleanup, onMount } from 'solid-js';
import { createKeptDrafts } from '#ui/src/kernel/form/kept-drafts.ts';
import type { Form } from '#ui/src/kernel/form/form.ts';
import { useMayOpen } from '#ui/src/components/shell/route-context.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { browserStorage } from '#ui/src/kernel/storage.ts';
import { changedFields } from './drafts.ts';

const PAUSE_MS = 400;

/**
 * Keeps what is written into a form until it is saved or discarded: a page that is reloaded, or left because the session ended,
 * begins with it again. @param version of the stored record; null while it is new.
 */
export function keepDraft<D extends Record<string, unknown>>(form: Form<D>, version: () => number | null): void {
  const { router, session, toasts } = useKernel();
  const drafts = createKeptDrafts(browserStorage);
  const mayOpen = useMayOpen();
  const path = router.path();
  const place = `${session.username()} ${path}?${router.query().toString()}`;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const keep = () => {
    clearTimeout(timer);
    const names = form.changed();
    const draft = { fields: changedFields(form.snapshot(), names), version: version() };
    drafts.keep(place, names.length === 0 ? undefined : draft);
  };

  onMount(() => {
    const kept = drafts.read(place);
    if (kept !== undefined) {
      const known = Object.entries(kept.fields).filter(([name]) => Object.hasOwn(form.base(), name));
      form.change((draft) => void Object.assign(draft, Object.fromEntries(known)));
    }
    if (kept !== undefined && form.dirty()) {
      const since = kept.version !== version() ? ' The stored version has changed since: compare before you save.' : '';
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
    // Whoever goes to another page was asked; whose session ended, or whose role no longer reaches the page, was not.
    if (session.state() === 'signed_in' && mayOpen(path)) drafts.keep(place, undefined);
    else keep();
  });
}

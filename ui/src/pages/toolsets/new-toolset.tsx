import * as v from 'valibot';
import { Show } from 'solid-js';
import { ToolsetDraft } from '#core/contract/definitions/toolsets.ts';
import { Failed } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { useForm } from '#ui/src/components/use-form.ts';
import { useSaved } from '#ui/src/components/use-act.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { pickFaults } from './picks.ts';
import { ToolsetForm } from './toolset-form.tsx';
import { useSelectable } from './use-selectable.ts';
import { SAVED, UNSAVED } from './words.ts';

/** A toolset that is not stored yet. */
export function NewToolset() {
  const { call, router } = useKernel();
  const saved = useSaved();
  const selectable = useSelectable();
  const form = useForm<ToolsetDraft, { readonly id: string }>({
    schema: ToolsetDraft,
    check: pickFaults,
    initial: () => ({ ...v.parse(ToolsetDraft, { name: 'new' }), name: '' }),
    submit: (draft) => call('toolsets.create', draft),
    unsaved: UNSAVED,
    onDone({ id }) {
      saved(SAVED);
      router.navigate(`/toolsets/${id}`);
    },
  });
  return (
    <Page
      title="New toolset"
      lead="Choose what the toolset holds and who can use it. Clients see the toolset after the next deploy."
      width="full"
      back={{ href: '/toolsets', label: 'Toolsets' }}
    >
      <Failed of={selectable} />
      <Show when={selectable.ready()} fallback={<SkeletonList rows={6} label="Loading" failed={selectable.problem()} />}>
        <ToolsetForm form={form} selectable={selectable} fresh onSubmit={(event) => void form.submit(event)} />
      </Show>
    </Page>
  );
}

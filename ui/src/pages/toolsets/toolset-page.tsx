import { createSignal, Show } from 'solid-js';
import { type Toolset, ToolsetDraft } from '#core/contract/definitions/toolsets.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Menu } from '#ui/src/components/menu.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { useParams } from '#ui/src/components/shell/route-context.ts';
import { useRecordForm } from '#ui/src/components/use-form.ts';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useAct, useSaved } from '#ui/src/components/use-act.ts';
import { Loaded } from '#ui/src/components/show/loaded.tsx';
import { NotFound } from '#ui/src/components/empty-state.tsx';
import { ChangedElsewhere } from '#ui/src/features/builder/definitions/changed-elsewhere.tsx';
import { together } from '#ui/src/kernel/data/query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { pickFaults } from './picks.ts';
import { ToolsetForm } from './toolset-form.tsx';
import { useSelectable } from './use-selectable.ts';
import { SAVED, UNSAVED } from './words.ts';

const toDraft = ({ id: _, version: _version, created_at: _created, updated_at: _updated, ...draft }: Toolset): ToolsetDraft =>
  draft;

/** One stored toolset. */
export function ToolsetPage() {
  const { id = '' } = useParams();
  const { call, router } = useKernel();
  const { act, ask } = useAct();
  const query = useQuery((read) => read('toolsets.get', { id }), { live: true });
  const isDeleted = () => query.data() !== undefined && query.problem()?.code === 'not_found';
  const selectable = useSelectable();
  const reading = together(selectable, query);
  /** Another one begins the form again. */
  const [revision, setRevision] = createSignal({});
  const showNewest = async () => {
    if (!(await router.mayLeave())) return;
    await query.reload();
    setRevision({});
  };
  const toolset = () => (selectable.ready() ? query.data() : undefined);

  const remove = async ({ name, version }: Toolset) => {
    const question = {
      title: `Delete the toolset “${name}”?`,
      text: 'Its tools stay. Tokens and clients that are limited to this toolset lose it at the next deploy.',
      action: 'Delete toolset',
    };
    const gone = await ask(question, () => call('toolsets.delete', { id, version }), `${name} deleted.`);
    if (gone !== undefined) router.navigate('/toolsets', { gone: true });
    // Somebody else may have deleted it.
    else await query.reload();
  };
  const duplicate = async () => {
    const copy = await act(() => call('toolsets.duplicate', { id }));
    if (copy !== undefined) router.navigate(`/toolsets/${copy.id}`);
  };

  return (
    <Page
      title={query.data()?.name ?? 'Toolsets'}
      width="full"
      back={{ href: '/toolsets', label: 'Toolsets' }}
      badge={
        <Show when={!isDeleted()} fallback={<Badge tone="bad">Deleted</Badge>}>
          <Show when={query.data()?.enabled === false}>
            <Badge>Disabled</Badge>
          </Show>
        </Show>
      }
      actions={
        <Show when={query.data()}>
          {(toolset) => (
            <Menu
              label={`More for ${toolset().name}`}
              items={[
                { label: 'Duplicate', icon: 'copy', needs: 'toolsets.duplicate', onSelect: () => void duplicate() },
                { label: 'History', icon: 'history', href: `/history?type=toolset&id=${id}` },
                'line',
                {
                  label: 'Delete',
                  icon: 'trash',
                  danger: true,
                  needs: 'toolsets.delete',
                  onSelect: () => void remove(toolset()),
                },
              ]}
            />
          )}
        </Show>
      }
    >
      <Loaded
        of={{ ...reading, problem: () => (isDeleted() ? undefined : reading.problem()), data: toolset }}
        rows={6}
        label="Loading"
        gone={<NotFound icon="filter" noun="toolset" list="/toolsets" />}
      >
        {(found) => (
          <Show when={revision()} keyed>
            {(_) => (
              <StoredToolset
                toolset={found()}
                deleted={isDeleted()}
                selectable={selectable}
                onSaved={() => void query.reload()}
                onShow={showNewest}
              />
            )}
          </Show>
        )}
      </Loaded>
    </Page>
  );
}

interface StoredToolsetProps {
  toolset: Toolset;
  deleted: boolean;
  selectable: ReturnType<typeof useSelectable>;
  onSaved: () => void;
  onShow: () => unknown;
}

function StoredToolset(props: StoredToolsetProps) {
  const { call } = useKernel();
  const saved = useSaved();
  const form = useRecordForm({
    record: () => props.toolset,
    kind: 'toolset',
    schema: ToolsetDraft,
    check: pickFaults,
    toValues: toDraft,
    read: ({ id }) => call('toolsets.get', { id }),
    save: (draft, { id, version }) => call('toolsets.update', { id, version, ...draft }),
    unsaved: UNSAVED,
    onDone() {
      props.onSaved();
      saved(SAVED);
    },
  });
  // What is stored is read again after a save, which the form knows before.
  const isNewer = () => props.toolset.version > form.record().version;
  return (
    <>
      <ChangedElsewhere kind="toolset" id={props.toolset.id} deleted={props.deleted} newer={isNewer()} onShow={props.onShow} />
      <ToolsetForm form={form} selectable={props.selectable} fresh={false} onSubmit={(event) => void form.submit(event)} />
    </>
  );
}

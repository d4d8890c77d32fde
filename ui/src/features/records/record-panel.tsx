import { type ComponentProps, createSignal, For, type JSX, Show } from 'solid-js';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button, IconButton } from '#ui/src/components/button.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { DialogOf } from '#ui/src/components/dialog-of.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import type { IconName } from '#ui/src/components/icon.tsx';
import { enableItem, Menu, type MenuItem } from '#ui/src/components/menu.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { SecretOnce } from '#ui/src/components/show/secret-once.tsx';
import { type Column, DataTable } from '#ui/src/components/table/data-table.tsx';
import { useAct } from '#ui/src/components/use-act.ts';
import { useCachedPages } from '#ui/src/components/use-pages.ts';
import { useUndo } from '#ui/src/components/use-undo.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { RecordForm, type RecordKind, type RecordList, type StoredRecord } from './record-form.tsx';

/** Row actions up to this number are buttons; more are a menu. */
const MOST_BUTTONS = 3;

interface ListProps<R extends StoredRecord> {
  title: string;
  lead?: JSX.Element;
  icon: IconName;
  empty: { readonly title: string; readonly text: string };
  columns: readonly Column<R>[];
  /** Why a row has no actions, such as `Revoked`. */
  ended?: (row: R) => string | undefined;
}

/** Records of one kind: the list, forms that create and change them, secrets that are shown once, and deletion. */
export function RecordPanel<R extends StoredRecord, V extends Record<string, unknown>, M extends R = R>(
  props: ListProps<R> & {
    of: RecordKind<R, V, M>;
    /** Title of the dialog that creates one. */
    new_title: string;
    size?: 'wide';
    /** Actions besides those that every kind has. `show`: shows the secrets of a record. */
    actions?: (row: R, show: (revealed: M) => void) => readonly MenuItem[];
    secrets?: Pick<ComponentProps<typeof SecretOnce<M>>, 'title' | 'secrets' | 'encrypted' | 'children'>;
    /** Given with `onCreating`: whether the dialog that creates one is open. */
    creating?: boolean;
    onCreating?: (open: boolean) => void;
    onCreated?: (revealed: M) => void;
    onSaved?: (record: R) => void;
  },
) {
  const { call, toasts } = useKernel();
  const { act } = useAct();
  // A mounted panel keeps its kind of records.
  // oxlint-disable-next-line solid/reactivity
  const { of } = props;
  const [is_creating, setIsCreating] = createSignal(false);
  const [edited, setEdited] = createSignal<R>();
  const [revealed, setRevealed] = createSignal<M>();
  const creating = () => props.creating ?? is_creating();
  const setCreating = (open: boolean) => (props.onCreating ?? setIsCreating)(open);
  const enable = (row: R) =>
    act(async () => of.enable?.(call, row.enabled !== true, row), `${of.nameOf(row)} ${row.enabled ? 'disabled' : 'enabled'}.`);
  const actions = (row: R): MenuItem[] => [
    ...(of.update === undefined ? [] : [{ label: 'Edit', icon: 'edit' as const, onSelect: () => setEdited(() => row) }]),
    ...(props.actions?.(row, (shown) => setRevealed(() => shown)) ?? []),
    ...(of.enable === undefined ? [] : [enableItem(row.enabled === true, () => void enable(row))]),
  ];
  const createButton = (size?: 'small') => (
    <Button {...(size && { size })} icon="plus" onPress={() => setCreating(true)}>
      {`${of.verb ?? 'New'} ${of.noun}`}
    </Button>
  );
  return (
    <Listing {...props} actions={actions} head={createButton('small')} create={createButton()}>
      <Dialog
        open={creating()}
        title={props.new_title}
        {...(props.size && { size: props.size })}
        onClose={() => setCreating(false)}
      >
        <RecordForm
          of={of}
          onCancel={() => setCreating(false)}
          onCreated={(record) => {
            // Closed first: the second dialog then knows what the first was opened from.
            setCreating(false);
            if (props.secrets !== undefined) setRevealed(() => record);
            props.onCreated?.(record);
          }}
        />
      </Dialog>
      <DialogOf
        of={edited()}
        title={(record) => `Edit ${of.nameOf(record)}`}
        {...(props.size && { size: props.size })}
        onClose={() => setEdited(undefined)}
      >
        {(record) => (
          <RecordForm
            of={of}
            record={record}
            onCancel={() => setEdited(undefined)}
            onSaved={(saved) => {
              setEdited(undefined);
              toasts.show(`Saved “${of.nameOf(saved)}”.`, 'good');
              props.onSaved?.(saved);
            }}
          />
        )}
      </DialogOf>
      <Show when={props.secrets}>
        {(secrets) => <SecretOnce {...secrets()} of={revealed()} onClose={() => setRevealed(undefined)} />}
      </Show>
    </Listing>
  );
}

/** Records that are only listed, and deleted or revoked. */
export function RecordListPanel<R extends StoredRecord>(props: ListProps<R> & { of: RecordList<R> }) {
  return <Listing {...props} />;
}

function Listing<R extends StoredRecord>(
  props: ListProps<R> & {
    of: RecordList<R>;
    /** Actions before the one that deletes the row. */
    actions?: (row: R) => readonly MenuItem[];
    head?: JSX.Element;
    /** The button of the empty list. */
    create?: JSX.Element;
    children?: JSX.Element;
  },
) {
  const { call } = useKernel();
  const { ask } = useAct();
  const undoable = useUndo();
  // A mounted panel keeps its kind of records.
  // oxlint-disable-next-line solid/reactivity
  const { of } = props;
  const list = useCachedPages((read, skip, limit) => of.list(read, skip, limit));
  const remove = (row: R) => {
    const { noun, removal, type } = of;
    const name = of.nameOf(row);
    const done = `${removal.verb}d “${name}”.`;
    return ask(
      {
        title: `${removal.verb} the ${noun} “${name}”?`,
        text: removal.text(row),
        action: `${removal.verb} ${noun}`,
      },
      async () => {
        await of.remove(call, row);
        if (removal.undo) undoable(done, { type, ids: [row.id], action: 'delete' }, () => void list.reload());
      },
      removal.undo ? undefined : done,
    );
  };
  const items = (row: R): readonly MenuItem[] => [
    ...(props.actions?.(row) ?? []),
    { label: of.removal.verb, icon: 'trash', danger: true, onSelect: () => void remove(row) },
  ];
  return (
    <Panel title={props.title} lead={props.lead} flush actions={props.head}>
      <DataTable
        label={props.title}
        pages={list}
        key={({ id }) => id}
        muted={(row) => row.enabled === false || props.ended?.(row) !== undefined}
        columns={props.columns}
        actions={(row) => (
          <Show when={props.ended?.(row)} fallback={<RowActions name={of.nameOf(row)} items={items(row)} />}>
            {(word) => <Badge>{word()}</Badge>}
          </Show>
        )}
        empty={
          <EmptyState icon={props.icon} title={props.empty.title} action={props.create}>
            <p>{props.empty.text}</p>
          </EmptyState>
        }
      />
      {props.children}
    </Panel>
  );
}

function RowActions(props: { name: string; items: readonly MenuItem[] }) {
  return (
    <Show
      when={props.items.length <= MOST_BUTTONS}
      fallback={
        <Menu
          label={`More for ${props.name}`}
          size="small"
          items={[...props.items.slice(0, -1), 'line', ...props.items.slice(-1)]}
        />
      }
    >
      <For each={props.items}>
        {({ label, icon, onSelect }) => (
          <IconButton icon={icon ?? 'more'} size="small" label={`${label} ${props.name}`} onPress={() => onSelect?.()} />
        )}
      </For>
    </Show>
  );
}

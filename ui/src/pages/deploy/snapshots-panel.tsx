import { createMemo, createSignal, Match, Show, Switch } from 'solid-js';
import type { SnapshotSummary } from '#core/contract/deploy/snapshots.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { ChangeList } from '#ui/src/components/change-list.tsx';
import { DataTable } from '#ui/src/components/data-table.tsx';
import { Dialog, Drawer } from '#ui/src/components/dialog.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Menu } from '#ui/src/components/menu.tsx';
import { Notice, ProblemNotice } from '#ui/src/components/notice.tsx';
import { Select } from '#ui/src/components/select.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { breakingCount, summary } from '#ui/src/kernel/deploy-changes.ts';
import type { Deployment } from '#ui/src/kernel/deployment.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { ReceiptPanel } from './receipt-panel.tsx';
import { WORDS } from './words.ts';

/** As many as are kept. */
const MOST = 100;

/** Every version that was deployed: compared, looked at, served again. */
export function SnapshotsPanel(props: {
  deployment: Deployment;
  from: number;
  to: number;
  onCompare: (from: number, to: number) => void;
  onCode: (version: number) => void;
}) {
  const { call } = useKernel();
  const live = createMemo(() => props.deployment.status.data()?.snapshot_version ?? null);
  const list = useQuery((signal) => call('snapshots.list', { limit: MOST }, signal), { watch: live });
  const [activating, setActivating] = createSignal<number>();
  const rows = createMemo(() => list.data()?.items);
  const versions = createMemo(() =>
    (rows() ?? []).map(({ version, active }) => ({
      value: String(version),
      label: active ? WORDS.live_version(version) : WORDS.plain_version(version),
    })),
  );
  const before = (row: SnapshotSummary) => rows()?.find(({ version }) => version < row.version)?.version;
  const activate = async (version: number) => {
    setActivating(undefined);
    await props.deployment.activate(version);
    await list.reload();
  };

  return (
    <div class="stack">
      <Show when={props.deployment.problem()}>
        {(problem) => (
          <Notice tone="bad" live>
            {problem().detail}
          </Notice>
        )}
      </Show>
      <Show when={props.deployment.rehearsed() ? undefined : props.deployment.receipt()}>
        {(receipt) => <ReceiptPanel receipt={receipt()} rehearsed={false} onDismiss={props.deployment.dismiss} />}
      </Show>
      <DataTable
        label={WORDS.versions_label}
        rows={rows()}
        problem={list.problem()}
        onRetry={() => void list.reload()}
        key={(row) => String(row.version)}
        current={(row) => row.active}
        columns={[
          {
            id: 'version',
            head: WORDS.version,
            cell: (row) => (
              <span class="row">
                <span class="num deploy-version">{row.version}</span>
                <Show when={row.active}>
                  <Badge tone="good" dot>
                    {WORDS.live}
                  </Badge>
                </Show>
              </span>
            ),
            sort: (row) => row.version,
          },
          { id: 'note', head: WORDS.note, cell: (row) => <span class="soft">{row.note ?? ''}</span>, width: '34%' },
          {
            id: 'contains',
            head: WORDS.contains,
            narrow: 'hide',
            cell: (row) => <span class="num small soft">{plural(row.counts.tools, 'tool')}</span>,
          },
          { id: 'by', head: WORDS.by, narrow: 'hide', cell: (row) => row.actor.name, sort: (row) => row.actor.name },
          { id: 'when', head: WORDS.when, cell: (row) => <Ago iso={row.created_at} />, sort: (row) => row.created_at },
        ]}
        actions={(row) => (
          <Menu
            label={`More for version ${row.version}`}
            size="small"
            items={[
              !row.active && {
                label: WORDS.activate,
                icon: 'rocket' as const,
                onSelect: () => setActivating(row.version),
              },
              !row.active &&
                live() !== null && {
                  label: WORDS.compare,
                  icon: 'swap' as const,
                  onSelect: () => props.onCompare(row.version, live() ?? row.version),
                },
              before(row) !== undefined && {
                label: WORDS.compare_before,
                icon: 'swap' as const,
                onSelect: () => props.onCompare(before(row) ?? row.version, row.version),
              },
              { label: WORDS.code_of, icon: 'braces' as const, onSelect: () => props.onCode(row.version) },
            ]}
          />
        )}
        empty={
          <EmptyState icon="rocket" title={WORDS.versions_none}>
            <p>{WORDS.versions_none_text}</p>
          </EmptyState>
        }
      />

      <Drawer
        open={props.from > 0 && props.to > 0}
        title={WORDS.compare_title}
        size="wide"
        onClose={() => props.onCompare(0, 0)}
        foot={
          live() !== props.to && versions().some(({ value }) => value === String(props.to)) ? (
            <Button onPress={() => setActivating(props.to)}>{WORDS.activate}</Button>
          ) : undefined
        }
      >
        <div class="stack">
          <div class="grid-2">
            <Select
              label={WORDS.from}
              options={versions()}
              value={String(props.from)}
              onChange={(from) => props.onCompare(Number(from), props.to)}
            />
            <Select
              label={WORDS.to}
              options={versions()}
              value={String(props.to)}
              onChange={(to) => props.onCompare(props.from, Number(to))}
            />
          </div>
          <Show when={props.from > 0 && props.to > 0}>
            <Difference from={props.from} to={props.to} />
          </Show>
        </div>
      </Drawer>

      <Dialog
        open={activating() !== undefined}
        title={WORDS.activate_title(activating() ?? 0)}
        lead={WORDS.activate_text(live())}
        size="wide"
        onClose={() => setActivating(undefined)}
        foot={
          <>
            <Button autofocus onPress={() => setActivating(undefined)}>
              {WORDS.keep}
            </Button>
            <Button kind="primary" icon="rocket" onPress={() => void activate(activating() ?? 0)}>
              {WORDS.activate}
            </Button>
          </>
        }
      >
        <Show when={activating()} keyed>
          {(version) => (
            <div class="stack">
              <h3 class="deploy-sub">{WORDS.activate_changes}</h3>
              <Difference from={live() ?? version} to={version} />
            </div>
          )}
        </Show>
      </Dialog>
    </div>
  );
}

/** What one would see changing from one version to another. */
function Difference(props: { from: number; to: number }) {
  const { call } = useKernel();
  const diff = useQuery((signal) => call('snapshots.diff', { from: props.from, to: props.to }, signal), {
    watch: () => [props.from, props.to],
  });
  const changes = () => diff.data()?.changes ?? [];
  return (
    <Switch>
      <Match when={diff.problem()}>{(problem) => <ProblemNotice problem={problem()} onRetry={() => void diff.reload()} />}</Match>
      <Match when={diff.data() === undefined}>
        <SkeletonList rows={3} label="Comparing" />
      </Match>
      <Match when={changes().length === 0}>
        <p class="soft">{WORDS.no_difference}</p>
      </Match>
      <Match when={changes().length > 0}>
        <div class="stack">
          <p class="small soft">{summary(changes())}</p>
          <Show when={breakingCount(changes()) > 0}>
            <Notice tone="brass" title={WORDS.breaking(breakingCount(changes()))} />
          </Show>
          <div class="deploy-diff">
            <ChangeList changes={changes()} label={WORDS.activate_changes} />
          </div>
        </div>
      </Match>
    </Switch>
  );
}

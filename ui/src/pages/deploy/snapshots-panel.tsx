import { createMemo, createSignal, Show } from 'solid-js';
import type { SnapshotSummary } from '#core/contract/deploy/snapshots.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { ChangeList } from '#ui/src/features/deploy/change-list.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { Drawer } from '#ui/src/components/dialog.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Menu } from '#ui/src/components/menu.tsx';
import { Aging } from '#ui/src/components/show/aging.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { Loaded } from '#ui/src/components/show/loaded.tsx';
import { DialogOf } from '#ui/src/components/dialog-of.tsx';
import { breakingCount, summary } from '#ui/src/features/deploy/changes.ts';
import type { Deployment } from '#ui/src/features/deploy/deployment.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { LastProblem } from '#ui/src/features/deploy/gate-findings.tsx';
import { Breaking } from '#ui/src/features/deploy/deploy-dialog.tsx';
import { ReplayDrawer } from '#ui/src/features/replay/replay-drawer.tsx';
import { Receipt } from '#ui/src/features/deploy/receipt.tsx';

/** The retention limit of versions. */
const MOST = 100;

/** Every deployed version: compare, inspect, serve again. */
export function SnapshotsPanel(props: {
  deployment: Deployment;
  from: number;
  to: number;
  onCompare: (from: number, to: number) => void;
  onCode: (version: number) => void;
}) {
  const live = createMemo(() => props.deployment.status.data()?.snapshot_version ?? null);
  const list = useQuery((read) => read('snapshots.list', { limit: MOST }), { watch: live });
  const [activating, setActivating] = createSignal<number>();
  const [replaying, setReplaying] = createSignal<string>();
  const rows = createMemo(() => list.data()?.items);
  const versions = createMemo(() =>
    (rows() ?? []).map(({ version, active }) => ({
      value: String(version),
      label: `Version ${version}${active ? ', live' : ''}`,
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
      <LastProblem deployment={props.deployment} />
      <Show when={props.deployment.rehearsed() ? undefined : props.deployment.receipt()}>
        {(receipt) => <Receipt receipt={receipt()} rehearsed={false} onDismiss={props.deployment.dismiss} />}
      </Show>
      <DataTable
        label="Deployed versions"
        rows={rows()}
        query={list}
        key={(row) => String(row.version)}
        current={(row) => row.active}
        columns={[
          {
            id: 'version',
            head: 'Version',
            cell: (row) => (
              <span class="row">
                <span class="num deploy-version">{row.version}</span>
                <Show when={row.active}>
                  <Badge tone="good" dot>
                    Live
                  </Badge>
                </Show>
              </span>
            ),
            sort: (row) => row.version,
            width: '1%',
          },
          {
            id: 'summary',
            head: 'What changed',
            cell: (row) => (
              <span class="cell-text">
                <span class="row">
                  {row.summary ?? 'Unknown'}
                  <Show when={row.same_as}>{(version) => <Badge>{`restored from v${version()}`}</Badge>}</Show>
                </span>
                <Show when={row.note}>
                  <span class="small soft lines">{`Note: “${row.note}”`}</span>
                </Show>
                <Show when={before(row)}>
                  {(from) => (
                    <Button
                      kind="quiet"
                      size="small"
                      label={`Show changes of version ${row.version}`}
                      onPress={() => props.onCompare(from(), row.version)}
                    >
                      Show changes
                    </Button>
                  )}
                </Show>
                <Show when={row.restored}>
                  {(restored) => (
                    <span class="small faint lines">
                      {`Restored by ${restored().by}${restored().from_version === null ? '' : ` in place of v${restored().from_version}`} `}
                      <Ago iso={restored().at} />
                    </span>
                  )}
                </Show>
                <span class="narrow-only">
                  <span class="small faint lines">
                    <Ago iso={row.created_at} />
                  </span>
                </span>
              </span>
            ),
          },
          {
            id: 'contains',
            head: 'Contains',
            narrow: 'hide',
            cell: (row) => <span class="num small soft">{plural(row.counts.tools, 'tool')}</span>,
          },
          { id: 'by', head: 'By', narrow: 'hide', text: (row) => row.actor.name },
          { id: 'when', head: 'When', narrow: 'hide', time: (row) => row.created_at },
        ]}
        actions={(row) => (
          <Menu
            label={`More for version ${row.version}`}
            size="small"
            items={[
              !row.active && {
                label: 'Restore this version',
                icon: 'rocket' as const,
                needs: 'snapshots.activate' as const,
                onSelect: () => setActivating(row.version),
              },
              !row.active &&
                live() !== null && {
                  label: 'Compare with the live version',
                  icon: 'swap' as const,
                  onSelect: () => props.onCompare(row.version, live() ?? row.version),
                },
              !row.active &&
                live() !== null && {
                  label: 'Replay recent calls',
                  icon: 'refresh' as const,
                  needs: 'replay.run' as const,
                  onSelect: () => setReplaying(`v${row.version}`),
                },
              {
                label: 'View its code',
                icon: 'braces' as const,
                needs: 'server.generated' as const,
                onSelect: () => props.onCode(row.version),
              },
            ]}
          />
        )}
        empty={
          <EmptyState icon="rocket" title="Nothing deployed yet">
            <p>The first deploy creates version 1. The latest 100 versions are kept.</p>
          </EmptyState>
        }
      />

      <Drawer
        open={props.from > 0 && props.to > 0}
        title="Compare two versions"
        size="wide"
        onClose={() => props.onCompare(0, 0)}
        foot={
          live() !== props.to && versions().some(({ value }) => value === String(props.to)) ? (
            <Button needs="snapshots.activate" onPress={() => setActivating(props.to)}>
              Restore this version
            </Button>
          ) : undefined
        }
      >
        <div class="stack">
          <div class="grid-2">
            <Select
              label="From"
              options={versions()}
              value={String(props.from)}
              onChange={(from) => props.onCompare(Number(from), props.to)}
            />
            <Select
              label="To"
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

      <ReplayDrawer open={replaying() !== undefined} target={replaying()} onClose={() => setReplaying(undefined)} />

      <DialogOf
        of={activating()}
        title={(version) => `Restore version ${version}?`}
        lead={
          live() === null
            ? 'This version is served at once. The working copy does not change.'
            : `It replaces version ${live()} at once. The working copy does not change; what differs is listed as changes to deploy.`
        }
        size="wide"
        onClose={() => setActivating(undefined)}
        foot={
          <>
            <Button autofocus onPress={() => setActivating(undefined)}>
              Cancel
            </Button>
            <Button kind="primary" icon="rocket" onPress={() => void activate(activating() ?? 0)}>
              Restore this version
            </Button>
          </>
        }
      >
        {(version) => (
          <div class="stack">
            <h3 class="sub-head">What changes for clients</h3>
            <Difference from={live() ?? version} to={version} />
          </div>
        )}
      </DialogOf>
    </div>
  );
}

/** The differences between two versions. */
function Difference(props: { from: number; to: number }) {
  const diff = useQuery((read) => read('snapshots.diff', { from: props.from, to: props.to }), {
    watch: () => [props.from, props.to],
  });
  const changes = () => diff.data()?.changes ?? [];
  return (
    <Loaded of={diff} rows={3} label="Comparing">
      {() => (
        <Show when={changes().length > 0} fallback={<p class="soft">These versions are the same.</p>}>
          <Aging of={diff}>
            <div class="stack">
              <p class="small soft">{summary(changes())}</p>
              <Breaking count={breakingCount(changes())} />
              <div class="change-box">
                <ChangeList changes={changes()} label="What changes for clients" />
              </div>
            </div>
          </Aging>
        </Show>
      )}
    </Loaded>
  );
}

import { createSignal, onCleanup, onMount, Show } from 'solid-js';
import { Badge, type Tone } from '#ui/src/components/badge.tsx';
import { createDeployment } from '#ui/src/kernel/deployment.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createPoll, createQuery } from '#ui/src/kernel/query.ts';
import { ChangesDialog } from './changes-dialog.tsx';
import { ConnectPanel } from './connect-panel.tsx';
import { ConnectionsPanel } from './connections-panel.tsx';
import { Gate } from './gate.tsx';
import { Receipt } from './receipt.tsx';
import { ToolsPanel } from './tools-panel.tsx';

const POLL_MS = 2_000;
const PAGE = 50;
const MOST = 500;

const STATUS = {
  running: { word: 'Running', tone: 'good' },
  deploying: { word: 'Deploying', tone: 'water' },
  stopped: { word: 'Stopped', tone: 'plain' },
  error: { word: 'Not serving', tone: 'bad' },
} as const satisfies Record<string, { word: string; tone: Tone }>;

export function Overview() {
  const { call, commands, router } = useKernel();
  const [reviewing, setReviewing] = createSignal(false);
  const [limit, setLimit] = createSignal(PAGE);
  let search: HTMLInputElement | undefined;

  const health = createQuery((signal) => call('server.health', {}, signal));
  const connections = createQuery((signal) => call('connections.list', { limit: MOST }, signal));
  const tools = createQuery((signal) => {
    const wanted = router.query().get('q') ?? '';
    return call('tools.list', { limit: limit(), ...(wanted === '' ? {} : { search: wanted }) }, signal);
  });
  const reloadAll = () => void Promise.all([health.reload(), connections.reload(), tools.reload()]);
  const deployment = createDeployment(call, reloadAll);
  const offline = () => deployment.status.problem()?.code === 'offline';

  const review = () => {
    setReviewing(true);
    void deployment.diff.reload();
  };
  /** Straight away, unless a client that knows the live version may break: then the changes are shown first. */
  const deploy = async () => {
    if (deployment.phase() !== 'idle' || status() === undefined) return;
    if ((deployment.status.data()?.pending_changes ?? 0) > 0) {
      await deployment.diff.reload();
      if (deployment.diff.data()?.changes.some((change) => change.breaking.length > 0)) {
        setReviewing(true);
        return;
      }
    }
    await deployment.run();
  };

  const poll = createPoll({
    run: deployment.refresh,
    every_ms: POLL_MS,
    visible: () => document.visibilityState === 'visible' && deployment.phase() === 'idle',
  });
  onMount(() => {
    void deployment.refresh();
    reloadAll();
    poll.start();
  });
  onCleanup(() => poll.stop());
  onCleanup(
    commands.register([
      { id: 'deploy', title: 'Deploy', group: 'Server', key: 'd', run: () => void deploy() },
      { id: 'changes', title: 'See what the next deploy will change', group: 'Server', key: 'c', run: review },
      { id: 'search-tools', title: 'Search tools', group: 'Server', key: '/', run: () => search?.focus() },
      { id: 'reload', title: 'Read everything again', group: 'Server', key: 'r', run: reloadAll },
    ]),
  );

  /** Nothing is connected yet: how to begin takes the place of the tools. */
  const fresh = () => connections.data()?.total === 0;
  const status = () => deployment.status.data()?.status;

  return (
    <div class="overview">
      <Show when={offline()}>
        <p class="banner" role="alert">
          The server does not answer. Trying again every two seconds.
        </p>
      </Show>
      <header class="overview-head">
        <h1>
          <Show when={health.data()} fallback={<span class="skeleton" aria-label="Reading the server’s name" />}>
            {(server) => server().server_name}
          </Show>
        </h1>
        <Show when={status()}>
          {(state) => (
            <Badge tone={STATUS[state()].tone} dot pulse={state() === 'deploying'}>
              {STATUS[state()].word}
            </Badge>
          )}
        </Show>
      </header>

      <Gate deployment={deployment} onDeploy={() => void deploy()} onReview={review} />
      <Show when={deployment.receipt()}>{(receipt) => <Receipt receipt={receipt()} onDismiss={deployment.dismiss} />}</Show>

      <div class="overview-columns">
        <Show when={!fresh()} fallback={<ConnectionsPanel connections={connections} />}>
          <ToolsPanel
            tools={tools}
            connection_id={connections.data()?.items[0]?.id}
            onMore={() => {
              setLimit(Math.min(limit() + PAGE, MOST));
              void tools.reload();
            }}
            searchRef={(input) => {
              search = input;
            }}
          />
        </Show>
        <div class="stack">
          <Show when={health.data()}>
            {(server) => <ConnectPanel server_name={server().server_name} mcp_url={server().mcp_url} />}
          </Show>
          <Show when={!fresh()}>
            <ConnectionsPanel connections={connections} />
          </Show>
        </div>
      </div>

      <ChangesDialog
        deployment={deployment}
        open={reviewing()}
        onClose={() => setReviewing(false)}
        onDeploy={() => {
          setReviewing(false);
          void deployment.run();
        }}
      />
    </div>
  );
}

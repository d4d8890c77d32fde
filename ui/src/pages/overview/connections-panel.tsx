import { createSignal, For, Match, Show, Switch } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { Snippet } from '#ui/src/components/snippet.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { type Problem, toProblem } from '#ui/src/kernel/problem.ts';
import type { Query } from '#ui/src/kernel/query.ts';
import { duration } from '#ui/src/kernel/words.ts';
import { ADVICE } from './advice.ts';
import { restExample } from './examples.ts';

type List = Output<'connections.list'>;
type Connection = List['items'][number];

export function ConnectionsPanel(props: { connections: Query<List> }) {
  const list = () => props.connections.data();
  return (
    <Panel title="Connections" count={list()?.total}>
      <Switch fallback={<SkeletonList rows={2} label="Reading connections" />}>
        <Match when={list()?.total === 0}>
          <NoConnections />
        </Match>
        <Match when={list()}>
          {(found) => (
            <ul class="list">
              <For each={found().items}>{(connection) => <Row connection={connection} />}</For>
            </ul>
          )}
        </Match>
        <Match when={props.connections.problem()}>
          {(problem) => (
            <div class="panel-body">
              <Notice tone="bad">{problem().detail}</Notice>
            </div>
          )}
        </Match>
      </Switch>
    </Panel>
  );
}

function Row(props: { connection: Connection }) {
  const { call } = useKernel();
  const [busy, setBusy] = createSignal(false);
  const [result, setResult] = createSignal<Output<'connections.test'>>();
  const [problem, setProblem] = createSignal<Problem>();
  const place = () => {
    const { db_type, host, port, database } = props.connection;
    return host === null ? `${db_type}, ${database}` : `${db_type}, ${host}${port === null ? '' : `:${port}`}/${database}`;
  };

  const test = async () => {
    setBusy(true);
    setResult(undefined);
    setProblem(undefined);
    try {
      setResult(await call('connections.test', { id: props.connection.id }));
    } catch (fault) {
      setProblem(toProblem(fault));
    }
    setBusy(false);
  };

  return (
    <li class="entity" data-off={props.connection.enabled ? undefined : 'true'}>
      <div class="entity-head">
        <span class="entity-name">{props.connection.name}</span>
        <Show when={props.connection.read_only}>
          <Badge tone="water" title="Tools that write are refused on this connection">
            read-only
          </Badge>
        </Show>
        <Show when={!props.connection.enabled}>
          <Badge>off</Badge>
        </Show>
        <Button size="small" busy={busy()} aria-label={`Test ${props.connection.name}`} onPress={() => void test()}>
          Test
        </Button>
      </div>
      <p class="small faint mono">{place()}</p>
      <div role="status">
        <Show when={result()}>
          {(answer) => (
            <Notice
              tone={answer().success ? (answer().warnings.length > 0 ? 'brass' : 'good') : 'bad'}
              title={answer().success ? `Connected in ${duration(answer().latency_ms)}` : 'Not connected'}
            >
              <p>{answer().success ? (answer().server_version ?? answer().message) : answer().message}</p>
              <Show when={answer().code}>{(code) => <p>{ADVICE[code()]}</p>}</Show>
              <Show when={answer().warnings.length > 0}>
                <ul class="bullets">
                  <For each={answer().warnings}>{(warning) => <li>{warning}</li>}</For>
                </ul>
              </Show>
            </Notice>
          )}
        </Show>
        <Show when={problem()}>{(fault) => <Notice tone="bad">{fault().detail}</Notice>}</Show>
      </div>
    </li>
  );
}

const EXAMPLE = {
  name: 'shop',
  db_type: 'postgresql',
  host: 'db.example.com',
  port: 5432,
  database: 'shop',
  username: 'reader',
  password: 'ITS PASSWORD',
};

function NoConnections() {
  const { session } = useKernel();
  return (
    <div class="empty">
      <p>No database is connected. Create a connection over REST; a user that may only read is the safest to begin with.</p>
      <Snippet
        label="the commands that create a connection"
        text={restExample(window.location.origin, session.username(), '/connections', EXAMPLE)}
      />
      <p class="small">
        To look around first, start in an empty data folder with <code>SVC_ENV=dev SVC_DEMO=true npm start</code>: it brings a
        sample database with tools.
      </p>
    </div>
  );
}

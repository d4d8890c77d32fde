import { For, type JSX, onMount, Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { ConnectClient } from '#ui/src/features/connect/connect-client.tsx';
import { ComingWarnings } from '#ui/src/features/deploy/coming-warnings.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Icon } from '#ui/src/components/icon.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Failed, Notice } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { Skeleton } from '#ui/src/components/skeleton.tsx';
import { useFollow, useQuery } from '#ui/src/components/use-query.ts';
import { FIRST_STEPS, type FirstStep } from '#ui/src/kernel/first-run.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';
import { FolderButton } from '#ui/src/features/connect/folder-button.tsx';
import { SampleButton } from '#ui/src/features/connect/sample-button.tsx';
import { newToolHref } from '#ui/src/features/builder/sql/table-address.ts';
import { tablesToStartWith } from './tables.ts';
import './welcome.css';

const MOST_TABLES = 8;

const STEPS: Readonly<Record<FirstStep, { readonly title: string; readonly text: string; readonly done: string }>> = {
  connect: {
    title: 'Connect a database',
    text: 'Enter an address and a user. A read-only user is the safest start.',
    done: 'Connected',
  },
  tool: {
    title: 'Create a tool from a table',
    text: 'Choose a table to generate a typed tool that reads its rows. Review the SQL, try it and save it.',
    done: 'Tool created',
  },
  deploy: {
    title: 'Deploy it',
    text: 'A deploy freezes what you saved into a version that the MCP server serves. Clients see nothing before that.',
    done: 'Deployed',
  },
  client: {
    title: 'Connect your client',
    text: 'Add the MCP server to your client, then ask something that needs the tool.',
    done: 'Client connected',
  },
};

/** The way from an empty installation to a client that calls a tool. */
export function Welcome() {
  const { first_run, router } = useKernel();
  const finished = () => first_run.done()?.size === FIRST_STEPS.length;
  onMount(() => void first_run.reload(true));
  const reload = async () => {
    if (!finished()) await first_run.reload(true);
  };
  useFollow('deploy.status', reload);
  useFollow('logs.list', reload);
  const content: Readonly<Record<FirstStep, () => JSX.Element>> = {
    connect: () => <ConnectStep />,
    tool: () => <ToolStep />,
    deploy: () => <DeployStep />,
    client: () => <ClientStep />,
  };

  return (
    <Page
      title="From SQL to an agent in four steps"
      lead="You can leave and come back. Each step stays until it is done."
      width="narrow"
      actions={
        <Show when={!finished()}>
          <Button
            kind="quiet"
            onPress={() => {
              first_run.dismiss();
              router.navigate('/');
            }}
          >
            Skip setup
          </Button>
        </Show>
      }
    >
      <Show when={finished()}>
        <EmptyState
          icon="check"
          title="Everything is set up"
          action={
            <LinkButton href="/" kind="primary">
              Go to Home
            </LinkButton>
          }
        >
          <p>A client has called your server. Home shows its calls from now on.</p>
        </EmptyState>
      </Show>
      <ol class="lines">
        <For each={FIRST_STEPS}>{(step, index) => <Step step={step} number={index() + 1} content={content[step]} />}</For>
      </ol>
    </Page>
  );
}

function Step(props: { step: FirstStep; number: number; content: () => JSX.Element }) {
  const { first_run } = useKernel();
  const done = () => first_run.done()?.has(props.step) === true;
  const current = () => first_run.next() === props.step;
  return (
    <li class="step" data-state={done() ? 'done' : current() ? 'current' : 'later'} aria-current={current() ? 'step' : undefined}>
      <span class="step-mark num" aria-hidden="true">
        <Show when={done()} fallback={props.number}>
          <Icon name="check" size={14} />
        </Show>
      </span>
      <div class="step-body">
        <h2>
          {STEPS[props.step].title}
          <Show when={done()}>
            <span class="visually-hidden">: {STEPS[props.step].done}</span>
          </Show>
        </h2>
        <Show when={current()} fallback={<Show when={!done()}>{<p class="soft small">{STEPS[props.step].text}</p>}</Show>}>
          <p class="soft small">{STEPS[props.step].text}</p>
          {props.content()}
        </Show>
      </div>
    </li>
  );
}

function ConnectStep() {
  const { first_run } = useKernel();
  return (
    <div class="row">
      <LinkButton href="/connections/new?next=welcome" kind="primary" icon="plus">
        Connect a database
      </LinkButton>
      <FolderButton />
      <SampleButton onDone={() => void first_run.reload(true)} />
    </div>
  );
}

function ToolStep() {
  const tables = useQuery(async (read) => {
    const { items } = await read('connections.list', { limit: 1, enabled: true });
    const connection_id = items[0]?.id;
    if (connection_id === undefined) return undefined;
    const { items: all, total } = await read('schema.tables', { connection_id });
    return { connection_id, items: tablesToStartWith(all, MOST_TABLES), total };
  });
  return (
    <>
      <Failed of={tables} />
      <Show when={tables.pending() && tables.data() === undefined}>
        <Skeleton width="half" height="2.25rem" />
      </Show>
      <Show when={tables.data()}>
        {(found) => (
          <>
            <ul class="step-tables" aria-label="Tables">
              <For each={found().items} fallback={<li class="soft">This user can see no tables. Write your own SQL.</li>}>
                {(table) => (
                  <li>
                    <LinkButton href={newToolHref(found().connection_id, table)} icon="table">
                      {table.name}
                    </LinkButton>
                  </li>
                )}
              </For>
            </ul>
            <div class="row">
              <LinkButton href={`/tools/new?connection=${found().connection_id}`} kind="quiet" size="small">
                Write your own SQL
              </LinkButton>
              <Show when={found().total > found().items.length}>
                <LinkButton href={`/connections/${found().connection_id}?tab=tables`} kind="quiet" size="small">
                  All tables
                </LinkButton>
              </Show>
            </div>
          </>
        )}
      </Show>
    </>
  );
}

function DeployStep() {
  const { call, first_run, toasts } = useKernel();
  const deploy = createMutation(() => call('deploy.run', {}));
  const diff = useQuery((read) => read('deploy.diff', { values: false }));
  const run = async () => {
    const receipt = await deploy.run(undefined);
    if (receipt === undefined) return;
    if (receipt.snapshot_version !== null) toasts.show(`Version ${receipt.snapshot_version} is live.`, 'good');
    for (const warning of receipt.warnings) toasts.show(warning);
    await first_run.reload(true);
  };
  return (
    <>
      <Show when={deploy.problem()}>
        {(problem) => (
          <Notice tone="bad" live>
            <p>{problem().detail}</p>
            <For each={problem().errors}>{(error) => <p>{error.message}</p>}</For>
          </Notice>
        )}
      </Show>
      <ComingWarnings warnings={diff.data()?.warnings} />
      <div class="row">
        <Button kind="primary" icon="rocket" busy={deploy.busy()} onPress={() => void run()}>
          Deploy
        </Button>
      </div>
    </>
  );
}

function ClientStep() {
  const health = useQuery((read) => read('server.health', {}));
  return (
    <Show when={health.data()} fallback={<Skeleton width="long" height="2.25rem" />}>
      <ConnectClient server={health.data()} label="Client" />
      <p class="step-waiting" role="status">
        <span class="spinner" aria-hidden="true" />
        Waiting for the first call…
      </p>
      <div class="row">
        <LinkButton href="/playground" icon="play">
          Open playground
        </LinkButton>
      </div>
    </Show>
  );
}

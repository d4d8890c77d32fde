import { createSignal, For, Show } from 'solid-js';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { lazyPart } from '#ui/src/components/show/lazy-part.tsx';
import type { Test, TestOwner } from '#core/contract/definitions/tests.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Link, LinkButton } from '#ui/src/components/link.tsx';
import { Menu } from '#ui/src/components/menu.tsx';
import { Failed } from '#ui/src/components/notice.tsx';
import { LoadMore } from '#ui/src/components/table/load-more.tsx';
import { useAct } from '#ui/src/components/use-act.ts';
import { useQuery } from '#ui/src/components/use-query.ts';
import { allOf } from '#ui/src/kernel/data/all-of.ts';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import type { NewTest } from './expectation.ts';
import { LastResult } from './test-result.tsx';
import { tally } from './words.ts';
import { passesFocus } from '#ui/src/components/form/passes-focus.ts';
import { Loaded } from '#ui/src/components/show/loaded.tsx';
import './tests.css';

const PAGE = 500;
/** A browser takes seconds to draw a thousand. */
const SHOWN = 100;
const TestEditor = lazyPart(async () => (await import('./test-editor.tsx')).TestEditor);

const isFailing = ({ last }: Test): number => Number(last?.status === 'failed');
const failingFirst = (tests: readonly Test[]): Test[] => tests.toSorted((a, b) => isFailing(b) - isFailing(a));

/** Tests with their state: those of one definition, or all. */
export function TestList(props: { owner?: TestOwner | undefined; owner_name?: string | undefined }) {
  const { call, toasts } = useKernel();
  const { ask } = useAct();
  const owner = () => props.owner;
  const filter = () => (props.owner === undefined ? {} : { owner: `${props.owner.kind}:${props.owner.id}` });
  const list = useQuery((read) => allOf((skip, limit) => read('tests.list', { ...filter(), skip, limit }), PAGE), {
    watch: () => props.owner?.id,
  });
  const [most, setMost] = createSignal(SHOWN);
  const [edited, setEdited] = createSignal<Test | NewTest>();
  const running = createMutation((input: { ids?: string[]; owner?: TestOwner }) => call('tests.run', input));
  const run = async (input: { ids?: string[]; owner?: TestOwner }) => {
    const answer = await running.run(input);
    if (answer === undefined) return;
    toasts.show(tally(answer), answer.failed > 0 ? 'bad' : 'good');
    await list.reload();
  };
  const remove = async (test: Test) => {
    const question = {
      title: `Delete the test “${test.name}”?`,
      text: 'Deploys no longer run this test. You can restore it from the history.',
      action: 'Delete test',
    };
    await ask(question, () => call('tests.delete', { id: test.id, version: test.version }), `Test ${test.name} deleted.`);
  };

  return (
    <div class="stack">
      <div class="row" hidden={props.owner === undefined && list.data()?.total === 0}>
        <Button
          size="small"
          icon="play"
          needs="tests.run"
          busy={running.busy()}
          blocked={(list.data()?.total ?? 0) === 0}
          onPress={() => void run(props.owner === undefined ? {} : { owner: props.owner })}
        >
          Run tests
        </Button>
        <Show when={owner()}>
          {(found) => (
            <Button
              size="small"
              icon="plus"
              needs="tests.create"
              onPress={() =>
                setEdited({ owner: found(), name: `${props.owner_name ?? ''} ${(list.data()?.total ?? 0) + 1}`.trim() })
              }
            >
              New test
            </Button>
          )}
        </Show>
      </div>
      <Failed of={running} />
      <Loaded of={list} rows={2} label="Loading tests">
        {(tests) => (
          <Show
            when={tests().items.length > 0}
            fallback={
              <Show
                when={props.owner}
                fallback={
                  <section class="panel">
                    <EmptyState icon="check" title="No tests yet" action={<LinkButton href="/tools">Choose a tool</LinkButton>}>
                      <p>
                        Open a tool, run its preview and keep the result as a test. Every deploy that changes the tool then runs
                        the test.
                      </p>
                    </EmptyState>
                  </section>
                }
              >
                <EmptyState icon="check" title="No tests yet">
                  <p>
                    Run the preview and keep its result as a test. Every deploy that changes the definition then runs the test.
                  </p>
                </EmptyState>
              </Show>
            }
          >
            <ul class="test-list" aria-label="Tests">
              <For each={failingFirst(tests().items).slice(0, most())}>
                {(row) => (
                  <li ref={passesFocus}>
                    <div class="stack" data-gap="2">
                      <span class="row">
                        <strong>{row.name}</strong>
                        <Show when={!row.enabled}>
                          <Badge>Disabled</Badge>
                        </Show>
                      </span>
                      <Show when={props.owner === undefined}>
                        <span class="small">
                          {row.owner.kind}{' '}
                          <Link href={`/${row.owner.kind}s/${row.owner.id}`}>
                            <span class="mono">
                              <Breakable text={row.owner_name} />
                            </span>
                          </Link>
                        </span>
                      </Show>
                      <LastResult test={row} />
                    </div>
                    <Menu
                      label={`More for the test ${row.name}`}
                      size="small"
                      items={[
                        { label: 'Run', icon: 'play', needs: 'tests.run', onSelect: () => void run({ ids: [row.id] }) },
                        { label: 'Edit test', icon: 'edit', needs: 'tests.update', onSelect: () => setEdited(row) },
                        { label: 'History', icon: 'history', href: `/history?type=test&id=${row.id}` },
                        {
                          label: 'Delete test',
                          icon: 'trash',
                          danger: true,
                          needs: 'tests.delete',
                          onSelect: () => void remove(row),
                        },
                      ]}
                    />
                  </li>
                )}
              </For>
            </ul>
            <LoadMore
              shown={Math.min(most(), tests().items.length)}
              total={tests().items.length}
              busy={false}
              onMore={() => setMost(most() + SHOWN)}
            />
          </Show>
        )}
      </Loaded>
      <Show when={edited()}>
        <TestEditor test={edited()} onClose={() => setEdited(undefined)} onSaved={() => void list.reload()} />
      </Show>
    </div>
  );
}

import { createMemo, Match, Switch } from 'solid-js';
import { SegmentedControl } from '#ui/src/components/form/choice.tsx';
import { ProblemNotice } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { choice, createSearchParams } from '#ui/src/kernel/route/search-params.ts';
import { Definitions } from './definitions.tsx';
import { Live } from './live/live.tsx';
import { addAnswer } from './live/traffic.ts';
import './flow.css';

/** What clients call, live, or what is built on each connection. */
export function Flow() {
  const { router } = useKernel();
  const params = createSearchParams(router, { mode: choice(['live', 'definitions']), view: choice(['graph', 'list']) });
  // A drawing needs room: on a phone the list is what can be read.
  const small = window.matchMedia('(width < 40rem)').matches;
  const view = () => params.get('view') ?? (small ? 'list' : 'graph');
  const layout = useQuery((read) => read('flow.layout', {}));
  const first = useQuery(async (read) => addAnswer(undefined, await read('flow.traffic', {})));
  /** Where there is traffic one wants to see it. It is decided once: nothing turns over while somebody reads. */
  const preferred = createMemo<'live' | 'definitions' | undefined>((before) => {
    const hour = first.data();
    if (before !== undefined || hour === undefined) return before;
    return hour.moments.size > 0 ? 'live' : 'definitions';
  });
  const mode = () => params.get('mode') ?? preferred();
  return (
    <Page
      title="Flow"
      lead={
        mode() === 'live'
          ? 'Which clients call which tools, and how their databases respond.'
          : 'What is built on each connection, with calls of the last 24 hours.'
      }
      width="full"
      actions={
        <>
          <SegmentedControl
            label="Mode"
            value={mode() ?? 'live'}
            onChange={(value) => params.set({ mode: value })}
            options={[
              { value: 'live' as const, label: 'Live', icon: 'bolt' },
              { value: 'definitions' as const, label: 'Definitions', icon: 'tool' },
            ]}
          />
          <SegmentedControl
            label="View"
            value={view()}
            onChange={(value) => params.set({ view: value })}
            options={[
              { value: 'graph' as const, label: 'Graph', icon: 'flow' },
              { value: 'list' as const, label: 'List', icon: 'list' },
            ]}
          />
        </>
      }
    >
      <Switch fallback={<SkeletonList rows={6} label="Flow" />}>
        <Match when={mode() === 'definitions'}>
          <Definitions layout={layout} view={view()} />
        </Match>
        <Match when={first.problem() !== undefined && first.data() === undefined && first.problem()}>
          {(problem) => <ProblemNotice problem={problem()} onRetry={() => void first.reload()} />}
        </Match>
        <Match when={mode() === 'live' && first.data()}>
          {(hour) => <Live layout={layout.data()} first={hour()} view={view()} />}
        </Match>
      </Switch>
    </Page>
  );
}

import { Match, Switch } from 'solid-js';
import { SegmentedControl } from '#ui/src/components/form/choice.tsx';
import { ProblemNotice } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { together } from '#ui/src/kernel/data/query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { choice, createSearchParams } from '#ui/src/kernel/route/search-params.ts';
import { Live } from './live.tsx';
import { addAnswer } from './traffic.ts';
import './flow.css';

/** What clients call, as a drawing or as a list. */
export function Flow() {
  const { router } = useKernel();
  const params = createSearchParams(router, { view: choice(['graph', 'list']) });
  // A drawing needs room: on a phone the list is readable.
  const small = window.matchMedia('(width < 40rem)').matches;
  const view = () => params.get('view') ?? (small ? 'list' : 'graph');
  const layout = useQuery((read) => read('flow.layout', {}));
  const first = useQuery(async (read) => addAnswer(undefined, await read('flow.traffic', {})), { live: false });
  const reading = together(layout, first);
  const loaded = () => {
    const [drawn, hour] = [layout.data(), first.data()];
    return drawn === undefined || hour === undefined ? undefined : { layout: drawn, hour };
  };
  return (
    <Page
      title="Live flow"
      lead="Which clients call which tools, and how their databases respond."
      width="full"
      actions={
        <SegmentedControl
          label="View"
          value={view()}
          onChange={(value) => params.set({ view: value })}
          options={[
            { value: 'graph' as const, label: 'Graph', icon: 'flow' },
            { value: 'list' as const, label: 'List', icon: 'list' },
          ]}
        />
      }
    >
      <Switch fallback={<SkeletonList rows={6} label="Flow" />}>
        <Match when={loaded()}>{(found) => <Live layout={found().layout} first={found().hour} view={view()} />}</Match>
        <Match when={reading.problem()}>
          {(problem) => <ProblemNotice problem={problem()} onRetry={() => void reading.reload()} />}
        </Match>
      </Switch>
    </Page>
  );
}

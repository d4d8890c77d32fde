import { createMemo, For, Show } from 'solid-js';
import { optionsOf } from '#ui/src/fields/kind.ts';
import { INSIGHT_PERIOD_CHOICES, INSIGHT_PERIODS, SEVERITY_CHOICES } from '#core/contract/observe/insight-rules.ts';
import { Button } from '#ui/src/components/button.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { SegmentedControl } from '#ui/src/components/form/choice.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Aging } from '#ui/src/components/show/aging.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { Loaded } from '#ui/src/components/show/loaded.tsx';
import { keepEqual } from '#ui/src/kernel/data/query.ts';
import { useCommands, useKernel } from '#ui/src/kernel/kernel.ts';
import { createSearchParams, oneOf } from '#ui/src/kernel/route/search-params.ts';
import { browserStorage } from '#ui/src/kernel/storage.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { createDismissed } from './dismissed.ts';
import { FindPanel } from './find-panel.tsx';
import { FindingList } from './finding.tsx';
import { useFix } from './use-fix.ts';
import './insights.css';

const MOST = 200;
const SEVERITIES = ['error', 'warning', 'info'] as const;

/** What callers have trouble with, and what to do about it. */
export function Insights() {
  const { cache, router, session } = useKernel();
  const params = createSearchParams(router, { period: oneOf(INSIGHT_PERIODS) });
  const period = () => params.get('period');
  const found = useQuery((read) => read('insights.list', { period: period(), limit: MOST }), {
    watch: period,
  });
  const dismissed = createDismissed(browserStorage);
  const fix = useFix();
  useCommands([{ id: 'reload', title: 'Reload the insights', group: 'This page', key: 'r', run: () => cache.invalidate() }]);
  const items = createMemo(() => found.data()?.items ?? []);
  const by_id = createMemo(() => new Map(items().map((insight) => [insight.id, insight])));
  const shown = createMemo(() => items().filter((insight) => !dismissed.isDismissed(insight)));
  const hidden = () => items().length - shown().length;
  const idsOf = (severity: (typeof SEVERITIES)[number]) =>
    createMemo<readonly string[]>((before = []) =>
      keepEqual(
        before,
        shown()
          .filter((insight) => insight.severity === severity)
          .map(({ id }) => id),
      ),
    );
  const groups = SEVERITIES.map((severity) => ({ severity, ids: idsOf(severity) }));
  const mayFix = () => session.may('tools.update');
  return (
    <Page
      title="Insights"
      lead="What callers have trouble with in real use, and what to do about it."
      actions={
        <SegmentedControl
          label="Period"
          value={period()}
          onChange={(value) => params.set({ period: value })}
          options={optionsOf(INSIGHT_PERIOD_CHOICES)}
        />
      }
    >
      <div class="stack">
        <Loaded of={found} rows={4} label="Loading insights">
          {() => (
            <>
              <Aging of={found}>
                <Show when={shown().length === 0}>
                  <EmptyState
                    framed
                    icon="check"
                    title="Nothing stands out"
                    action={<LinkButton href="/playground">Open the playground</LinkButton>}
                  >
                    Findings appear here once clients call your tools and something fails, waits or is never used.
                  </EmptyState>
                </Show>
                <For each={groups}>
                  {({ severity, ids }) => (
                    <Show when={ids().length > 0}>
                      <Panel title={SEVERITY_CHOICES[severity].label} count={ids().length} flush>
                        <FindingList
                          label={SEVERITY_CHOICES[severity].label}
                          ids={ids()}
                          insightOf={(id) => by_id().get(id)}
                          period={period()}
                          onFix={mayFix() ? (insight) => void fix(insight) : undefined}
                          onDismiss={dismissed.dismiss}
                        />
                      </Panel>
                    </Show>
                  )}
                </For>
              </Aging>
              <Show when={hidden() > 0}>
                <div class="row">
                  <span class="small faint">{`${plural(hidden(), 'finding')} dismissed in this browser`}</span>
                  <Button size="small" kind="quiet" onPress={dismissed.restoreAll}>
                    Show again
                  </Button>
                </div>
              </Show>
            </>
          )}
        </Loaded>
        <FindPanel />
      </div>
    </Page>
  );
}

import { createMemo, For, Show } from 'solid-js';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { Badge } from '#ui/src/components/badge.tsx';
import { Link, LinkButton } from '#ui/src/components/link.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { type Insight, ruleLabel, SEVERITY_TONES } from '#ui/src/features/insights/words.ts';
import { keepEqual } from '#ui/src/kernel/data/query.ts';

const SHOWN = 3;

/** The findings that matter most. Nothing is shown where there are none. */
export function InsightsPanel() {
  const found = useQuery((read) => read('insights.list', { limit: SHOWN }));
  const items = createMemo<readonly Insight[]>((before = []) => keepEqual(before, found.data()?.items ?? []));
  return (
    <Show when={items().length > 0}>
      <Panel
        title="Insights"
        count={found.data()?.total}
        flush
        actions={
          <LinkButton href="/insights" kind="quiet" size="small">
            View all insights
          </LinkButton>
        }
      >
        <ul class="home-rows home-insights">
          <For each={items()}>
            {(insight) => (
              <li>
                <Badge tone={SEVERITY_TONES[insight.severity]}>{ruleLabel(insight)}</Badge>
                <Link href="/insights" class="home-sentence">
                  <Breakable text={insight.message} />
                </Link>
              </li>
            )}
          </For>
        </ul>
      </Panel>
    </Show>
  );
}

import { createMemo, createSignal, For, Show } from 'solid-js';
import type { LintFinding } from '#core/contract/lint.ts';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Link } from '#ui/src/components/link.tsx';
import { Loaded } from '#ui/src/components/show/loaded.tsx';
import { LoadMore } from '#ui/src/components/table/load-more.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { allOf } from '#ui/src/kernel/data/all-of.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { LintFixes } from './lint-fixes.tsx';

const PAGE = 500;
/** More take long to draw. */
const SHOWN = 50;

/** Lint findings in the working copy by definition, with fixes where a definition is opened. */
export function LintList() {
  const found = useQuery((read) => allOf((skip, limit) => read('lint.list', { skip, limit }), PAGE));
  const [most, setMost] = createSignal(SHOWN);
  const groups = createMemo(() => Map.groupBy(found.data()?.items ?? [], ({ entity: { kind, id } }) => `${kind}:${id}`));
  /** Equal texts keep their rows, so that a row stays open when its findings are read again. */
  const owners = () => [...groups().keys()];
  return (
    <Loaded of={found} rows={4} label="Loading findings">
      {() => (
        <Show when={owners().length > 0} fallback={<EmptyState icon="check" title="No lint findings" />}>
          <ul class="lint-list" aria-label="Findings by definition">
            <For each={owners().slice(0, most())}>{(owner) => <Group findings={groups().get(owner) ?? []} />}</For>
          </ul>
          <LoadMore
            shown={Math.min(most(), owners().length)}
            total={owners().length}
            busy={false}
            onMore={() => setMost(most() + SHOWN)}
          />
        </Show>
      )}
    </Loaded>
  );
}

function Group(props: { findings: readonly LintFinding[] }) {
  const [opened, setOpened] = createSignal(false);
  return (
    <Show when={props.findings[0]?.entity}>
      {(entity) => (
        <li>
          <details onToggle={(event) => setOpened(event.currentTarget.open)}>
            <summary>
              <span class="small soft">{entity().kind}</span> <span class="mono">{entity().name}</span>{' '}
              <span class="small faint">{plural(props.findings.length, 'finding')}</span>
            </summary>
            <Show when={opened()}>
              <div class="stack" data-gap="2">
                <LintFixes of={entity()} />
                <Link href={`/${entity().kind}s/${entity().id}`} class="small">
                  Open {entity().name}
                </Link>
              </div>
            </Show>
          </details>
        </li>
      )}
    </Show>
  );
}

import { createSignal, For, Match, Show, Switch } from 'solid-js';
import { passesFocus } from '#ui/src/components/form/passes-focus.ts';
import { DEFAULT_TOKEN_BUDGET, type ToolsetMembers } from '#core/contract/definitions/toolsets.ts';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Link } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { num } from '#ui/src/kernel/numbers.ts';
import type { Problem } from '#ui/src/kernel/problem.ts';
import { plural } from '#ui/src/kernel/words.ts';
import './toolsets.css';

const SHOWN = 50;

/** What the rules select now, and what it costs a model to read it. */
export function MembersPanel(props: {
  members: ToolsetMembers | undefined;
  problem: Problem | undefined;
  pending: boolean;
  /** Null: the default. */
  budget?: number | string | null;
  lead?: string;
  none?: string;
}) {
  const budget = () => Number(props.budget) || DEFAULT_TOKEN_BUDGET;
  const [all, setAll] = createSignal(false);
  const shown = () => props.members?.members.slice(0, all() ? undefined : SHOWN) ?? [];
  return (
    <Panel
      title="Members"
      lead={props.lead ?? 'What clients of this toolset will see after the next deploy.'}
      count={props.members?.total}
      flush
    >
      <div class="panel-body stack" aria-live="polite" aria-busy={props.pending}>
        <Switch fallback={<SkeletonList rows={4} label="Loading the members" />}>
          <Match when={props.problem}>
            {(problem) => (
              <Show
                when={problem().code === 'invalid' && problem().errors.length > 0}
                fallback={<Notice tone="bad">{problem().detail}</Notice>}
              >
                <p class="soft small">Correct the marked fields to see the members.</p>
              </Show>
            )}
          </Match>
          <Match when={props.members?.total === 0}>
            <p class="soft small">{props.none ?? 'Nothing is selected yet. Select definitions, a tag or a connection.'}</p>
          </Match>
          <Match when={props.members}>
            {(members) => (
              <>
                <p class="small num">{`${plural(members().total, 'member')}, about ${plural(members().tokens, 'token')} in the context of a model`}</p>
                <Show when={members().tokens > budget()}>
                  <Notice tone="warning">
                    {`More than ${num(budget())} tokens: models choose less reliably from long lists. Split the toolset or shorten`}{' '}
                    descriptions.
                  </Notice>
                </Show>
                <ul class="lines toolset-members">
                  <For each={shown()}>
                    {(member) => (
                      <li>
                        <span class="toolset-member">
                          <Link href={`/${member.kind}s/${member.id}`} class="mono">
                            <Breakable text={member.name} />
                          </Link>
                          <span class="small faint">
                            {member.kind}
                            <Breakable text={member.connection_name === null ? '' : ` on ${member.connection_name}`} />
                          </span>
                        </span>
                        <Show when={!member.read_only}>
                          <Badge tone="warning">writes</Badge>
                        </Show>
                        <span class="small faint num">{plural(member.tokens, 'token')}</span>
                      </li>
                    )}
                  </For>
                </ul>
                <Show when={!all() && members().total > SHOWN}>
                  <div ref={passesFocus}>
                    <Button size="small" onPress={() => setAll(true)}>
                      {`Show all ${num(members().total)}`}
                    </Button>
                  </div>
                </Show>
              </>
            )}
          </Match>
        </Switch>
      </div>
    </Panel>
  );
}

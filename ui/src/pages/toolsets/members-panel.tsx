import { createSignal, For, Match, Show, Switch } from 'solid-js';
import type { ToolsetMembers } from '#core/contract/definitions/toolsets.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Link } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import type { Problem } from '#ui/src/kernel/problem.ts';
import { COSTLY_TOKENS, KIND_WORDS, WORDS } from './words.ts';
import './toolsets.css';

const SHOWN = 50;

/** What the rules select now, and what it costs a model to read it. */
export function MembersPanel(props: {
  members: ToolsetMembers | undefined;
  problem: Problem | undefined;
  pending: boolean;
  lead?: string;
  none?: string;
}) {
  const [all, setAll] = createSignal(false);
  const shown = () => props.members?.members.slice(0, all() ? undefined : SHOWN) ?? [];
  return (
    <Panel title={WORDS.members} lead={props.lead ?? WORDS.members_lead} count={props.members?.total}>
      <div class="panel-body stack" aria-live="polite" aria-busy={props.pending}>
        <Switch fallback={<SkeletonList rows={4} label="Loading the members" />}>
          <Match when={props.problem}>{(problem) => <Notice tone="bad">{problem().detail}</Notice>}</Match>
          <Match when={props.members?.total === 0}>
            <p class="soft small">{props.none ?? WORDS.members_none}</p>
          </Match>
          <Match when={props.members}>
            {(members) => (
              <>
                <p class="small num">{WORDS.cost(members().total, members().tokens)}</p>
                <Show when={members().tokens > COSTLY_TOKENS}>
                  <Notice tone="brass">{WORDS.costly}</Notice>
                </Show>
                <ul class="toolset-members">
                  <For each={shown()}>
                    {(member) => (
                      <li>
                        <span class="toolset-member">
                          <Link href={`/${member.kind}s/${member.id}`} class="mono">
                            {member.name}
                          </Link>
                          <span class="small faint">
                            {KIND_WORDS[member.kind]}
                            {member.connection_name === null ? '' : ` on ${member.connection_name}`}
                          </span>
                        </span>
                        <Show when={!member.read_only}>
                          <Badge tone="brass">writes</Badge>
                        </Show>
                        <span class="small faint num">{WORDS.tokens(member.tokens)}</span>
                      </li>
                    )}
                  </For>
                </ul>
                <Show when={!all() && members().total > SHOWN}>
                  <Button size="small" onPress={() => setAll(true)}>
                    {WORDS.show_all(members().total)}
                  </Button>
                </Show>
              </>
            )}
          </Match>
        </Switch>
      </div>
    </Panel>
  );
}

import { createMemo, For, Show } from 'solid-js';
import type { GateFinding } from '#core/contract/deploy/deploy.ts';
import { Link } from '#ui/src/components/link.tsx';
import { Sentence } from '#ui/src/components/show/sentence.tsx';
import { useNames } from '#ui/src/components/show/use-names.ts';
import { num } from '#ui/src/kernel/numbers.ts';
import { definitionOf, groupFindings, type LinkedKind, sentenceOf } from './finding-groups.ts';

/** Findings of checks by rule, each with a link to its definition. */
export function Findings(props: { findings: readonly GateFinding[] }) {
  const groups = createMemo(() => groupFindings(props.findings));
  return (
    <div class="stack" data-gap="3">
      <For each={groups()}>
        {(group) => (
          <section class="stack" data-gap="1" aria-label={group.title}>
            <h3>
              {group.title} <span class="num faint">{num(group.findings.length)}</span>
            </h3>
            <ul class="bullets">
              <For each={group.findings}>
                {(finding) => (
                  <li>
                    <Show when={definitionOf(finding)}>
                      {(of) => (
                        <>
                          <DefinitionLink kind={of().kind} name={of().name} />{' '}
                        </>
                      )}
                    </Show>
                    <Sentence>{sentenceOf(finding)}</Sentence>
                  </li>
                )}
              </For>
            </ul>
          </section>
        )}
      </For>
    </div>
  );
}

function DefinitionLink(props: { kind: LinkedKind; name: string }) {
  // The kind of a finding stays.
  // oxlint-disable-next-line solid/reactivity
  const names = useNames(props.kind);
  const id = () => names.data()?.items.find(({ name }) => name === props.name)?.id;
  return (
    <Show when={id()} fallback={<span class="mono">{props.name}</span>}>
      {(found) => (
        <Link href={`/${props.kind}s/${found()}`} class="mono">
          {props.name}
        </Link>
      )}
    </Show>
  );
}

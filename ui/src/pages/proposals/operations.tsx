import { createSignal, For, Show } from 'solid-js';
import type { Proposal, ProposalOperation } from '#core/contract/proposals.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Checkbox } from '#ui/src/components/form/choice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { lazyPart } from '#ui/src/components/show/lazy-part.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { listed } from '#ui/src/fields/differences/value-words.ts';
import { leave } from './taking.ts';

const TryDrawer = lazyPart(async () => (await import('./try-drawer.tsx')).TryDrawer);

/** The operations of a proposal: which are taken, and tools to try. */
export function Operations(props: {
  proposal: Proposal;
  /** Positions of those that the reviewer leaves out. */
  left: ReadonlySet<number>;
  onLeft: (left: ReadonlySet<number>) => void;
}) {
  const { session } = useKernel();
  const [trying, setTrying] = createSignal<string>();
  const operations = () => props.proposal.operations;
  const is_open = () => props.proposal.status === 'open';
  const chooses = () => is_open() && operations().length > 1 && session.may('proposals.approve');
  const toolOf = ({ touched }: ProposalOperation) =>
    touched.find(({ entity_type, action }) => entity_type === 'tool' && action !== 'delete');
  const tried = (operation: ProposalOperation) =>
    is_open() && props.proposal.problem === null && session.may('proposals.try') ? toolOf(operation) : undefined;
  const needs = ({ needs = [] }: ProposalOperation) =>
    needs.length === 0 ? undefined : `Needs ${needs.length === 1 ? 'operation' : 'operations'} ${listed(needs.map(String))}.`;
  return (
    <Panel
      title="What it does"
      lead={
        chooses()
          ? 'In the order in which it was proposed. Clear the operations to leave out.'
          : 'In the order in which it was proposed.'
      }
      count={operations().length}
      flush
    >
      <ol class="proposal-steps">
        <For each={operations()}>
          {(operation) => (
            <li data-left={props.left.has(operation.position) || operation.taken === false ? 'true' : undefined}>
              <div class="proposal-step">
                <Show when={chooses()} fallback={<span class="proposal-step-words">{operation.summary}</span>}>
                  <Checkbox
                    label={operation.summary}
                    checked={!props.left.has(operation.position)}
                    hint={needs(operation)}
                    onChange={(is_taken) => props.onLeft(leave(operations(), props.left, operation.position, is_taken))}
                  />
                </Show>
                <Show when={operation.taken === false}>
                  <Badge>Left out</Badge>
                </Show>
                <Show when={tried(operation)}>
                  {(tool) => (
                    <Button
                      size="small"
                      icon="play"
                      label={`Try ${tool().entity_name}`}
                      onPress={() => setTrying(tool().entity_id)}
                    >
                      Try
                    </Button>
                  )}
                </Show>
              </div>
              <Show when={operation.note !== null && operation.note !== props.proposal.note}>
                <span class="small soft proposal-why">{operation.note}</span>
              </Show>
            </li>
          )}
        </For>
      </ol>
      <Show when={trying()}>
        {(tool_id) => (
          <TryDrawer
            id={props.proposal.id}
            version={props.proposal.version}
            tool_id={tool_id()}
            onClose={() => setTrying(undefined)}
          />
        )}
      </Show>
    </Panel>
  );
}

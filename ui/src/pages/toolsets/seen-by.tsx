import { createSignal, Show } from 'solid-js';
import { Panel } from '#ui/src/components/panel.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { type Caller, NO_CALLER_CHOSEN } from '#ui/src/features/run/caller-choice.ts';
import { rightsOf, ShowAs } from '#ui/src/features/run/show-as.tsx';
import { MembersPanel } from './members-panel.tsx';

/** The lists of the working copy as a chosen caller has them. */
export function SeenBy() {
  const [choice, setChoice] = createSignal(NO_CALLER_CHOSEN);
  return (
    <>
      <Panel title="What a caller sees" lead="Choose a person or a token, or type groups and claims." flush>
        <div class="panel-body">
          <ShowAs label="Caller" nobody="Choose a caller" choice={choice()} onChange={setChoice} />
        </div>
      </Panel>
      <Show when={choice().caller}>{(one) => <Seen caller={one()} />}</Show>
    </>
  );
}

function Seen(props: { caller: Caller }) {
  const seen = useQuery((read) => read('toolsets.visible', rightsOf(props.caller)), {
    watch: () => JSON.stringify(rightsOf(props.caller)),
  });
  return (
    <MembersPanel
      members={seen.stale() ? undefined : seen.data()}
      problem={seen.problem()}
      pending={seen.data() === undefined || seen.stale()}
      lead="What this caller will see after the next deploy."
      none="This caller sees nothing: none of their toolsets holds an enabled definition."
    />
  );
}

import { createSignal, Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import type { Playground } from './state.ts';

/** Calls run as the signed-in person; an access token entered here replaces that, to test what its holder may do. */
export function TokenPanel(props: { state: Playground; onClose: () => void }) {
  const [typed, setTyped] = createSignal('');
  const refused = () => props.state.refusal()?.reason === 'unauthorized';
  const use = (event: Event) => {
    event.preventDefault();
    props.state.setToken(typed().trim());
    setTyped('');
  };
  const leave = () => {
    if (props.state.token() !== '') props.state.setToken('');
    props.onClose();
  };
  return (
    <Panel title="Call with an access token" lead="Calls on this page use the token instead of your sign-in." flush>
      <form class="panel-body stack" onSubmit={use}>
        <Show when={refused()}>
          <Notice tone="bad" live title="Access token not accepted">
            <p>{props.state.refusal()?.detail}</p>
          </Notice>
        </Show>
        <Show when={props.state.token() !== '' && !refused() && !props.state.loading()}>
          <p class="small soft">Calls use this access token.</p>
        </Show>
        <TextField label="Access token" type="password" mono value={typed()} onInput={setTyped} />
        <div class="row">
          <Button type="submit" kind="primary" blocked={typed().trim() === ''} busy={props.state.loading()}>
            Use token
          </Button>
          <Button onPress={leave}>Call as yourself</Button>
          <LinkButton href="/access" kind="quiet">
            Manage tokens
          </LinkButton>
        </div>
      </form>
    </Panel>
  );
}

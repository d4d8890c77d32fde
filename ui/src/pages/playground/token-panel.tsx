import { createSignal, Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { TextField } from '#ui/src/components/field.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import type { Playground } from '#ui/src/kernel/playground.ts';
import { WORDS } from './words.ts';

/** The access token that the deployed server wants; it never leaves this page but to that server. */
export function TokenPanel(props: { state: Playground }) {
  const [typed, setTyped] = createSignal('');
  const wanted = () => props.state.refusal()?.reason === 'unauthorized';
  const use = (event: Event) => {
    event.preventDefault();
    props.state.setToken(typed().trim());
    setTyped('');
  };
  return (
    <Show
      when={wanted()}
      fallback={
        <div class="row small">
          <span class="soft">{WORDS.with_token}</span>
          <Button size="small" kind="quiet" onPress={() => props.state.setToken('')}>
            {WORDS.other_token}
          </Button>
        </div>
      }
    >
      <Panel title={WORDS.token_title} lead={WORDS.token_text}>
        <form class="panel-body stack" onSubmit={use}>
          <Show when={props.state.token() !== ''}>
            <Notice tone="bad" live title={WORDS.token_wrong}>
              <p>{props.state.refusal()?.detail}</p>
            </Notice>
          </Show>
          <TextField label={WORDS.token} type="password" mono value={typed()} onInput={setTyped} />
          <div class="row">
            <Button type="submit" kind="primary" blocked={typed().trim() === ''} busy={props.state.loading()}>
              {WORDS.use_token}
            </Button>
            <LinkButton href="/mcp-access" kind="quiet">
              {WORDS.to_access}
            </LinkButton>
          </div>
        </form>
      </Panel>
    </Show>
  );
}

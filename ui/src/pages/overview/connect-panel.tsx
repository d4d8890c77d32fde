import { createSignal, createUniqueId, Index, Show } from 'solid-js';
import { Panel } from '#ui/src/components/panel.tsx';
import { Snippet } from '#ui/src/components/snippet.tsx';
import { clientExamples } from './examples.ts';

/** How clients reach the deployed server. */
export function ConnectPanel(props: { server_name: string; mcp_url: string }) {
  const id = createUniqueId();
  const [chosen, setChosen] = createSignal(0);
  const examples = () => clientExamples(props.server_name, props.mcp_url);
  const tabs: HTMLButtonElement[] = [];

  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const next = (chosen() + step + examples().length) % examples().length;
    setChosen(next);
    tabs[next]?.focus();
  };

  return (
    <Panel title="Connect a client">
      <div class="panel-body stack">
        <Snippet label="the MCP address" text={props.mcp_url} />
        <div>
          <div class="tabs" role="tablist" aria-label="Client" onKeyDown={move}>
            <Index each={examples()}>
              {(example, index) => (
                <button
                  ref={(tab) => {
                    tabs[index] = tab;
                  }}
                  type="button"
                  class="tab"
                  role="tab"
                  id={`${id}-${example().id}`}
                  aria-selected={chosen() === index}
                  aria-controls={`${id}-panel`}
                  tabindex={chosen() === index ? 0 : -1}
                  onClick={() => setChosen(index)}
                >
                  {example().label}
                </button>
              )}
            </Index>
          </div>
          <Show when={examples()[chosen()]}>
            {(example) => (
              <div class="stack" role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${example().id}`}>
                <p class="small soft">{example().about}</p>
                <Snippet label={`the text for ${example().label}`} text={example().text} />
              </div>
            )}
          </Show>
        </div>
      </div>
    </Panel>
  );
}

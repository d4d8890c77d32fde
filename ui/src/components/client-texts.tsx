import { createSignal, Show } from 'solid-js';
import type { ClientText } from '#ui/src/kernel/access-clients.ts';
import { Snippet } from './snippet.tsx';
import { Tabs } from './tabs.tsx';

/** Texts to paste, client by client. */
export function ClientTexts(props: { texts: readonly ClientText[]; label: string }) {
  const [chosen, setChosen] = createSignal('claude-code');
  return (
    <Tabs
      label={props.label}
      value={chosen()}
      onChange={setChosen}
      tabs={props.texts.map(({ id, label }) => ({
        value: id,
        label,
        panel: () => (
          <Show when={props.texts.find((text) => text.id === id)}>
            {(entry) => (
              <div class="stack">
                <p class="small soft">{entry().about}</p>
                <Show when={entry().link}>
                  {(href) => (
                    <div class="row">
                      <a class="button" data-size="small" href={href()}>
                        Open {entry().label}
                      </a>
                    </div>
                  )}
                </Show>
                <Snippet label={`the text for ${entry().label}`} text={entry().text} />
              </div>
            )}
          </Show>
        ),
      }))}
    />
  );
}

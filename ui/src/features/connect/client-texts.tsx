import { createSignal, For, Show } from 'solid-js';
import type { ClientText } from '#core/client/client-texts.ts';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Snippet } from '#ui/src/components/show/snippet.tsx';
import { Tabs } from '#ui/src/components/tabs.tsx';

interface ClientTextsProps {
  texts: readonly ClientText[];
  label: string;
  /** Resources whose address has variables, which some clients do not show. */
  templates?: readonly { readonly id: string; readonly name: string }[] | undefined;
}

/** Texts to paste, client by client. */
export function ClientTexts(props: ClientTextsProps) {
  const [chosen, setChosen] = createSignal<string>();
  /** Which clients are offered depends on the settings of the server. */
  const shown = () => props.texts.find(({ id }) => id === chosen())?.id ?? props.texts[0]?.id ?? '';
  return (
    <Tabs
      label={props.label}
      value={shown()}
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
                <Show when={entry().hides_templates && props.templates?.length}>
                  <p class="small soft">
                    {entry().label} doesn’t list resource templates. Create a tool from a template so that it can read the same
                    data:
                  </p>
                  <div class="row">
                    <For each={props.templates}>
                      {({ id: resource, name }) => (
                        <LinkButton href={`/tools/new?resource=${resource}`} size="small" icon="plus">
                          <span class="long-label">
                            <Breakable text={name} />
                          </span>
                        </LinkButton>
                      )}
                    </For>
                  </div>
                </Show>
              </div>
            )}
          </Show>
        ),
      }))}
    />
  );
}

import { createMemo, createSignal, For, Show } from 'solid-js';
import { compileSearch } from '#core/lib/text/search.ts';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { SearchInput } from '#ui/src/components/table/filter-bar.tsx';
import { createRoving } from '#ui/src/components/table/roving.ts';
import { Panel } from '#ui/src/components/panel.tsx';
import type { Noun, Offer } from './state.ts';

const NOUNS: readonly (readonly [Noun, string])[] = [
  ['tool', 'Tools'],
  ['resource', 'Resources'],
  ['template', 'Resource templates'],
  ['prompt', 'Prompts'],
];

/** Everything that is deployed, to choose from. */
export function OfferList(props: { offers: readonly Offer[]; current: string | undefined; onChoose: (offer: Offer) => void }) {
  const [search, setSearch] = createSignal('');
  const groups = createMemo(() => {
    const matches = compileSearch(search());
    const found = props.offers.filter(({ name, title, description }) => matches(name, title, description));
    return NOUNS.map(([noun, title]) => ({ title, offers: found.filter((offer) => offer.noun === noun) })).filter(
      ({ offers }) => offers.length > 0,
    );
  });
  const roving = createRoving('.play-offer', groups);
  return (
    <Panel title="What to call" count={props.offers.length} flush>
      <div class="play-search">
        <SearchInput label="Find by name or text" value={search()} onInput={setSearch} />
      </div>
      <nav class="play-offers" aria-label="What to call" {...roving}>
        <For each={groups()} fallback={<p class="small soft play-none">No results</p>}>
          {(group) => (
            <section>
              <h3>{group.title}</h3>
              <ul>
                <For each={group.offers}>
                  {(offer) => (
                    <li>
                      <button
                        type="button"
                        class="play-offer"
                        aria-current={offer.key === props.current ? 'true' : undefined}
                        onClick={() => props.onChoose(offer)}
                      >
                        <span class="mono long-name">
                          <Breakable text={offer.name} />
                        </span>
                        <Show when={offer.title}>{(title) => <span class="faint small truncate">{title()}</span>}</Show>
                      </button>
                    </li>
                  )}
                </For>
              </ul>
            </section>
          )}
        </For>
      </nav>
    </Panel>
  );
}

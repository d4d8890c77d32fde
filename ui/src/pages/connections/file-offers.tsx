import { For, Match, Show, Switch } from 'solid-js';
import type { ColumnOffer } from '#core/contract/definitions/files.ts';
import type { Thousands } from '#core/contract/definitions/file-settings.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Notice } from '#ui/src/components/notice.tsx';

/** How numbers with each separator are written. */
export const NUMBERS_WRITTEN: Readonly<Record<Thousands, string>> = {
  ',': '1,234.50',
  '.': '1.234,50',
  ' ': '1 234,50',
  "'": "1'234.50",
};

type OfferChoice = Thousands | 'text' | 'leave out';
/** What becomes of columns, by their names. */
export type OfferChoices = Readonly<Record<string, OfferChoice>>;

/** What could be read in a better way, each with one click. A column that can be read in two ways stays text until somebody chooses. */
export function FileOffers(props: { offers: readonly ColumnOffer[]; busy: boolean; onTake: (choices: OfferChoices) => void }) {
  const clear = (): OfferChoices =>
    Object.fromEntries(
      props.offers.flatMap(({ column, kind, thousands: [first, second] }): [string, OfferChoice][] => {
        if (kind === 'empty') return [[column, 'leave out']];
        return first === undefined || second !== undefined ? [] : [[column, first]];
      }),
    );
  const Choose = (button: { label: string; column: string; choice: OfferChoice; quiet?: boolean }) => (
    <Button
      size="small"
      kind={button.quiet === true ? 'quiet' : 'plain'}
      blocked={props.busy}
      label={`${button.label}: ${button.column}`}
      onPress={() => props.onTake({ [button.column]: button.choice })}
    >
      {button.label}
    </Button>
  );
  return (
    <Show when={props.offers.length > 0}>
      <Notice
        tone="plain"
        title="Suggestions"
        action={
          <Show when={Object.keys(clear()).length > 1}>
            <Button size="small" blocked={props.busy} onPress={() => props.onTake(clear())}>
              {`Apply ${Object.keys(clear()).length} suggestions`}
            </Button>
          </Show>
        }
      >
        <ul class="stack" data-gap="2">
          <For each={props.offers}>
            {(offer) => (
              <li class="row">
                <Switch>
                  <Match when={offer.kind === 'empty'}>
                    <span>
                      The column <span class="mono">{offer.column}</span> has no values.
                    </span>
                    <Choose label="Leave out" column={offer.column} choice="leave out" />
                    <Choose label="Keep" column={offer.column} choice="text" quiet />
                  </Match>
                  <Match when={offer.thousands.length > 1}>
                    <span>
                      How are the numbers in <span class="mono">{offer.column}</span> written? Values such as 1,234 can be read in
                      two ways.
                    </span>
                    <For each={offer.thousands}>
                      {(thousands) => <Choose label={NUMBERS_WRITTEN[thousands]} column={offer.column} choice={thousands} />}
                    </For>
                    <Choose label="Keep as text" column={offer.column} choice="text" quiet />
                  </Match>
                  <Match when={offer.thousands[0]}>
                    {(thousands) => (
                      <>
                        <span>
                          The column <span class="mono">{offer.column}</span> is text, and has numbers such as{' '}
                          {NUMBERS_WRITTEN[thousands()]}.
                        </span>
                        <Choose label="Read as numbers" column={offer.column} choice={thousands()} />
                        <Choose label="Keep as text" column={offer.column} choice="text" quiet />
                      </>
                    )}
                  </Match>
                </Switch>
              </li>
            )}
          </For>
        </ul>
      </Notice>
    </Show>
  );
}

import { For, Show } from 'solid-js';
import { CLIENT_VERSION_DAYS, type ClientVersion } from '#core/contract/observe/client-versions.ts';
import type { ProtocolVersion } from '#core/contract/settings/setting-values.ts';
import { Failed } from '#ui/src/components/notice.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { plural } from '#ui/src/kernel/words.ts';

/** Clients listed here; the others are counted. */
const SHOWN = 10;

/** The clients that a minimum version of the protocol would refuse, of those that were seen. */
export function RefusedClients(props: { least: ProtocolVersion }) {
  const refused = useQuery((read) => read('clients.versions', { below: props.least, limit: SHOWN }), {
    watch: () => props.least,
  });
  return (
    <>
      <Failed of={refused} />
      <Show when={refused.data()}>
        {(found) => (
          <Show
            when={found().total > 0}
            fallback={<p class="small soft">{`No client of the last ${CLIENT_VERSION_DAYS} days would be refused.`}</p>}
          >
            <div class="settings-rules" tabindex="0" role="group" aria-label="Clients that would be refused">
              <ul>
                <For each={found().items}>
                  {(one) => (
                    <li class="small">
                      <span class="settings-rule">{`${nameOf(one)}, revision ${one.protocol_version}`}</span>
                      <span class="soft">
                        last seen <Ago iso={one.last_at} />, would be refused
                      </span>
                    </li>
                  )}
                </For>
              </ul>
            </div>
            <Show when={found().total - found().items.length}>
              {(more) => <p class="small soft">{`${plural(more(), 'other client')} would be refused as well.`}</p>}
            </Show>
          </Show>
        )}
      </Show>
    </>
  );
}

const nameOf = ({ client, version }: ClientVersion): string =>
  [client ?? 'A client without a name', version].filter(Boolean).join(' ');

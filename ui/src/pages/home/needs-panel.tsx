import { For, Show } from 'solid-js';
import { ENDING_CHOICES } from '#core/contract/identity/token-ends.ts';
import type { Output } from '#core/contract/index.ts';
import { Link } from '#ui/src/components/link.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { useOpenProposals } from '#ui/src/components/shell/use-open-proposals.ts';
import { useNow } from '#ui/src/components/time.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { plural, until } from '#ui/src/kernel/words.ts';

interface Need {
  readonly text: string;
  readonly href: string;
}

/** What waits for a decision of the person. Nothing is shown where there is nothing. */
export function NeedsPanel() {
  const { session } = useKernel();
  const proposals = useOpenProposals();
  const certificate = useQuery(async (read) => (session.may('ssl.status') ? read('ssl.status', {}) : undefined));
  const ending = useQuery(async (read) =>
    session.may('credentials.ending') ? read('credentials.ending', { limit: MOST_ENDING }) : undefined,
  );
  const now = useNow();
  const needs = (): Need[] => [
    ...reviewOf(proposals()),
    ...expiryOf(certificate.data()),
    ...endsOf(ending.data()?.items ?? [], now()),
  ];
  return (
    <Show when={needs().length > 0}>
      <Panel title="Needs you" count={needs().length} flush>
        <ul class="home-rows">
          <For each={needs()}>
            {({ text, href }) => (
              <li>
                <Link href={href} class="home-sentence">
                  {text}
                </Link>
              </li>
            )}
          </For>
        </ul>
      </Panel>
    </Show>
  );
}

/** Home names what ends within a week; the lists have everything. */
const MOST_ENDING = 20;
const WEEK_MS = 7 * 24 * 3_600_000;
const ENDING_PAGES = { mcp_token: '/access', oauth_client: '/agents?view=clients', oauth_app: '/sign-in' };

const endsOf = (items: Output<'credentials.ending'>['items'], now: number): Need[] =>
  items
    .filter(({ expires_at }) => Date.parse(expires_at) > now && Date.parse(expires_at) - now < WEEK_MS)
    .map(({ type, name, expires_at }) => ({
      text: `${ENDING_CHOICES[type].label} “${name}” expires ${until(expires_at, now)}`,
      href: ENDING_PAGES[type],
    }));

const reviewOf = (open: number): Need[] =>
  open === 0 ? [] : [{ text: `${plural(open, 'proposal')} to review`, href: '/proposals' }];

/** A certificate is renewed long before it expires: one that expires soon needs a person. */
function expiryOf(certificate: Output<'ssl.status'> | undefined): Need[] {
  const href = '/settings/tls';
  if (certificate?.status === 'expired') return [{ text: 'The HTTPS certificate has expired', href }];
  if (certificate?.status === 'error') return [{ text: 'The last order of an HTTPS certificate failed', href }];
  if (certificate?.status !== 'expiring_soon') return [];
  return [{ text: `The HTTPS certificate expires in ${plural(certificate.days_remaining ?? 0, 'day')}`, href }];
}

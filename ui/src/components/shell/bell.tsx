import { createSignal, Show } from 'solid-js';
import { lazyPart } from '#ui/src/components/show/lazy-part.tsx';
import { IconButton } from '#ui/src/components/button.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';

const NoticesDrawer = lazyPart(async () => (await import('./notices-drawer.tsx')).NoticesDrawer);

const ONLY_COUNTED = { limit: 1 } as const;
const MOST = 99;

/** How many notices the signed-in person has not read, and the way to them. */
export function Bell() {
  const { session } = useKernel();
  const [open, setOpen] = createSignal(false);
  const counted = useQuery(async (read) =>
    session.may('notices.events') ? (await read('notices.events', ONLY_COUNTED)).unread : undefined,
  );
  const unread = () => counted.data() ?? 0;
  const shown = () => (unread() > MOST ? `${MOST}+` : String(unread()));
  return (
    <Show when={session.may('notices.events')}>
      <span class="bell">
        <IconButton
          icon="bell"
          label={unread() === 0 ? 'Notices' : `Notices, ${shown()} unread`}
          aria-haspopup="dialog"
          aria-expanded={open()}
          onPress={() => setOpen(true)}
        />
        <Show when={unread() > 0}>
          <span class="bell-count num" aria-hidden="true">
            {shown()}
          </span>
        </Show>
      </span>
      <Show when={open()}>
        <NoticesDrawer onClose={() => setOpen(false)} />
      </Show>
    </Show>
  );
}

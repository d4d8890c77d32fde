import { createSignal, For, Match, Show, Switch } from 'solid-js';
import type { NoticeItem } from '#core/contract/observe/notice-events.ts';
import { Badge, type Tone } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Drawer } from '#ui/src/components/dialog.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Link } from '#ui/src/components/link.tsx';
import { Failed, ProblemNotice } from '#ui/src/components/notice.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { useAct } from '#ui/src/components/use-act.ts';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { EVENT_CHOICES } from '#core/contract/observe/notices.ts';
import { useMayOpen } from './route-context.ts';
import './notices-drawer.css';

const PAGE = 30;
const MOST = 100;

const TONES: Readonly<Record<NoticeItem['event'], Tone>> = {
  deploy: 'good',
  rollback: 'warning',
  canary_aborted: 'bad',
  proposal: 'info',
  test_failed: 'bad',
  drift: 'warning',
  host_gone: 'bad',
  host_disk: 'bad',
  certificate: 'plain',
  guard_hit: 'warning',
  login_locked: 'warning',
  tool_failing: 'bad',
  queue_full: 'bad',
  token_expiring: 'warning',
  sign_ins_refused: 'warning',
  audit_head: 'plain',
};

/** What happened lately, the newest first. */
export function NoticesDrawer(props: { onClose: () => void }) {
  const { call } = useKernel();
  const mayOpen = useMayOpen();
  const { act } = useAct();
  const [most, setMost] = createSignal(PAGE);
  const list = useQuery((read) => read('notices.events', { limit: most() }), { watch: most });
  const items = () => list.data()?.items ?? [];
  const readAll = () => {
    const newest = items()[0];
    if (newest !== undefined) void act(() => call('notices.read', { up_to: newest.id }));
  };
  return (
    <Drawer
      open
      title="Notices"
      onClose={props.onClose}
      foot={
        <>
          <Show when={mayOpen('/settings/webhooks')}>
            <Link href="/settings/webhooks" class="notices-webhooks" onFollow={props.onClose}>
              Send notices to a webhook
            </Link>
          </Show>
          <Button blocked={(list.data()?.unread ?? 0) === 0} onPress={readAll}>
            Mark all as read
          </Button>
        </>
      }
    >
      <Switch>
        <Match when={list.problem() !== undefined && list.data() === undefined ? list.problem() : undefined}>
          {(problem) => <ProblemNotice problem={problem()} onRetry={() => void list.reload()} />}
        </Match>
        <Match when={list.data() === undefined}>
          <SkeletonList rows={5} label="Loading notices" />
        </Match>
        <Match when={items().length === 0}>
          <EmptyState icon="bell" title="No notices yet">
            <p>Failing tools, full queues, lost hosts, and what others deploy or propose are listed here for 30 days.</p>
          </EmptyState>
        </Match>
        <Match when={items().length > 0}>
          <Failed of={list} />
          <ul class="lines notices">
            <For each={items()}>{(item) => <NoticeRow item={item} onFollow={props.onClose} />}</For>
          </ul>
          <Show when={(list.data()?.total ?? 0) > items().length && items().length < MOST}>
            <Button kind="quiet" onPress={() => setMost(MOST)}>
              Show more
            </Button>
          </Show>
        </Match>
      </Switch>
    </Drawer>
  );
}

function NoticeRow(props: { item: NoticeItem; onFollow: () => void }) {
  return (
    <li data-unread={props.item.unread ? 'true' : undefined}>
      <p class="notices-head">
        <Badge tone={TONES[props.item.event]}>{EVENT_CHOICES[props.item.event].label}</Badge>
        <Show when={props.item.unread}>
          <span class="notices-new">Unread</span>
        </Show>
        <span class="faint small">
          <Ago iso={props.item.created_at} />
          <Show when={props.item.ended_at}>
            {(ended) => (
              <>
                {', over '}
                <Ago iso={ended()} />
              </>
            )}
          </Show>
        </span>
      </p>
      <Link href={props.item.path} onFollow={props.onFollow}>
        {props.item.message}
      </Link>
    </li>
  );
}

import { createEffect, For, on, Show } from 'solid-js';
import { useQuery } from '#ui/src/components/use-query.ts';
import { Link } from '#ui/src/components/link.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { num } from '#ui/src/kernel/numbers.ts';
import { type NavEntry, type NavPage, pageAt } from './app-tables.ts';

const ONE = { limit: 1 } as const;

/** The pages of an entry beside each other, where it has several. */
export function SectionTabs(props: { entry: NavEntry; waiting: (href: string) => number }) {
  const { router, session } = useKernel();
  const current = () => pageAt(props.entry, router.path(), router.query());
  const counts = useQuery(async (read) => {
    const has_tests = props.entry.pages.some(({ of }) => of === 'tests');
    return { tests: has_tests && session.may('tests.list') ? (await read('tests.list', ONE)).total : 0 };
  });
  const isThere = (page: NavPage): boolean => page === current() || page.of === undefined || (counts.data()?.[page.of] ?? 0) > 0;
  const pages = () => props.entry.pages.filter(isThere);
  let list: HTMLElement | undefined;
  /** On a phone there are more tabs than fit beside each other. */
  const reveal = () => list?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  createEffect(on(current, () => requestAnimationFrame(reveal)));
  return (
    <Show when={current() !== undefined && pages().length > 1}>
      <nav
        class="tab-list section-tabs"
        aria-label={props.entry.label}
        ref={(element) => {
          list = element;
        }}
      >
        <For each={pages()}>
          {(page) => (
            <Link href={page.href} class="tab" current={page === current()}>
              {page.label}
              <Show when={props.waiting(page.href)}>{(count) => <span class="tab-count num">{num(count())}</span>}</Show>
            </Link>
          )}
        </For>
      </nav>
    </Show>
  );
}

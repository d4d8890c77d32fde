import { createEffect, type JSX, Show } from 'solid-js';
import { Icon } from './icon.tsx';
import { Link } from './link.tsx';
import { viewNameAt } from './shell/app-tables.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { Sentence } from '#ui/src/components/show/sentence.tsx';

/** The frame of every page: what it is, what can be done, then the content. */
export function Page(props: {
  title: string;
  /** The page in tabs and bookmarks, where its title is not its name. */
  tab?: string;
  lead?: JSX.Element;
  badge?: JSX.Element;
  actions?: JSX.Element;
  back?: { href: string; label: string };
  width?: 'narrow' | 'full';
  children: JSX.Element;
}) {
  const { router } = useKernel();
  // The name of the record or view, so that browser tabs and bookmarks differ.
  createEffect(() => {
    document.title = `${props.tab ?? viewNameAt(router.path(), router.query()) ?? props.title} · Sluice`;
  });
  return (
    <div class="page" data-width={props.width}>
      <header class="page-head">
        <div class="page-words">
          <Show when={props.back}>
            {(back) => (
              <Link href={back().href} class="page-back">
                <Icon name="left" size={14} />
                {back().label}
              </Link>
            )}
          </Show>
          <div class="page-title">
            <h1>
              <Sentence>{props.title}</Sentence>
            </h1>
            {props.badge}
          </div>
          <Show when={props.lead}>
            <p class="page-lead">
              <Sentence>{props.lead}</Sentence>
            </p>
          </Show>
        </div>
        <Show when={props.actions}>
          <div class="page-actions">{props.actions}</div>
        </Show>
      </header>
      {props.children}
    </div>
  );
}

import { createEffect, type JSX, Show } from 'solid-js';
import { Icon } from './icon.tsx';
import { Link } from './link.tsx';
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
  // Of one thing its name, so that tabs and bookmarks tell them apart.
  createEffect(() => {
    document.title = `${props.tab ?? props.title} · Sluice`;
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

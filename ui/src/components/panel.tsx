import { createUniqueId, type JSX, Show } from 'solid-js';
import { num } from '#ui/src/kernel/numbers.ts';
import { plural } from '#ui/src/kernel/words.ts';

/** A card with a heading. `flush`: the content has no padding, since it is a table or a list, or has a frame. */
export function Panel(props: {
  title: string;
  lead?: JSX.Element;
  count?: number | undefined;
  actions?: JSX.Element;
  flush?: boolean;
  children: JSX.Element;
}) {
  const id = createUniqueId();
  return (
    <section class="panel" aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id}>
          {props.title}
          <Show when={props.count}>
            {(count) => (
              <span class="count num" aria-label={plural(count(), 'entry', 'entries')}>
                {num(count())}
              </span>
            )}
          </Show>
        </h2>
        {props.actions}
        <Show when={props.lead}>
          <p class="panel-lead">{props.lead}</p>
        </Show>
      </div>
      <Show when={!props.flush} fallback={props.children}>
        <div class="panel-body stack">{props.children}</div>
      </Show>
    </section>
  );
}

/** Text at the left, fields at the right: a section of a long form. */
export function Section(props: { title: string; lead?: JSX.Element; children: JSX.Element }) {
  const id = createUniqueId();
  return (
    <section class="section" aria-labelledby={id}>
      <div class="section-words">
        <h2 id={id}>{props.title}</h2>
        <Show when={props.lead}>
          <p class="soft small">{props.lead}</p>
        </Show>
      </div>
      <div class="section-body">{props.children}</div>
    </section>
  );
}

import { createUniqueId, type JSX, Show } from 'solid-js';
import { plural } from '#ui/src/kernel/words.ts';

export function Panel(props: { title: string; count?: number | undefined; actions?: JSX.Element; children: JSX.Element }) {
  const id = createUniqueId();
  return (
    <section class="panel" aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id}>
          {props.title}
          <Show when={props.count}>
            {(count) => (
              <span class="count num" aria-label={plural(count(), 'entry', 'entries')}>
                {count().toLocaleString('en')}
              </span>
            )}
          </Show>
        </h2>
        {props.actions}
      </div>
      {props.children}
    </section>
  );
}

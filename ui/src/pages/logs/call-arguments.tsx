import { Match, Show, Switch } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import { JsonView } from '#ui/src/components/show/json-view.tsx';
import { Link } from '#ui/src/components/link.tsx';
import { NO_ARGUMENTS } from '#ui/src/features/run/logged-arguments.ts';

/**
 * The arguments of a call, or why they are unknown.
 * @param tool id of the tool, if it still has that name.
 */
export function CallArguments(props: { of: Output<'logs.get'>; tool: string | undefined }) {
  const state = () => props.of.arguments_state;
  return (
    <section class="stack" aria-label="Arguments">
      <h3>Arguments</h3>
      <Switch>
        <Match when={props.of.arguments}>
          {(values) => (
            <>
              <JsonView label="Arguments" value={values()} open={3} />
              <Names label="Masked as in results" names={props.of.arguments_masked} />
              <Names label="Too large to log" names={props.of.arguments_left_out} />
            </>
          )}
        </Match>
        <Match when={state() !== 'logged' && state()}>
          {(why) => (
            <p class="soft small">
              {NO_ARGUMENTS[why() as keyof typeof NO_ARGUMENTS]}{' '}
              <Show when={why() === 'not_logged' && props.tool}>
                {(id) => (
                  <>
                    To log them after the next deploy, turn on <Link href={`/tools/${id()}`}>Log arguments</Link> in the tool.
                  </>
                )}
              </Show>
            </p>
          )}
        </Match>
      </Switch>
    </section>
  );
}

function Names(props: { label: string; names: readonly string[] }) {
  return (
    <Show when={props.names.length > 0}>
      <p class="soft small">
        {`${props.label}: `}
        <span class="mono">{props.names.join(', ')}</span>
      </p>
    </Show>
  );
}

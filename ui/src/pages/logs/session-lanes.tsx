import { createMemo, For, Show } from 'solid-js';
import { MiddleCut } from '#ui/src/components/show/breakable.tsx';
import { clockTime, exactTime, minuteTime } from '#ui/src/kernel/dates.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { barOf, type Span, spanOf } from './session-bars.ts';
import type { McpSession } from './sessions-panel.tsx';

const LEAST_PX = 8;
const HOUR_MS = 3_600_000;
const UNKNOWN = 'Unnamed client';

/** One lane for each client, along the time from the first session to the last. */
export function SessionLanes(props: { sessions: readonly McpSession[]; onOpen: (session: McpSession) => void }) {
  const span = createMemo(() => spanOf(props.sessions));
  const by_id = createMemo(() => new Map(props.sessions.map((session) => [session.id, session])));
  const lanes = createMemo(() => Map.groupBy(props.sessions, ({ client }) => (client ?? '') || UNKNOWN));
  /** By names and ids, so that a bar that only moves keeps the focus. */
  const clients = createMemo(() => [...lanes().keys()].toSorted((a, b) => a.localeCompare(b)));
  const idsOf = (client: string) =>
    (lanes().get(client) ?? []).toSorted((a, b) => a.started_at.localeCompare(b.started_at)).map(({ id }) => id);
  const timeOf = (time: number) => (span().until - span().from < HOUR_MS ? clockTime(time) : minuteTime(time));
  return (
    <div class="session-lanes">
      <ul aria-label="Sessions by client">
        <For each={clients()}>
          {(client) => (
            <li>
              <MiddleCut text={client} />
              <div class="session-track">
                <For each={idsOf(client)}>
                  {(id) => (
                    <Show when={by_id().get(id)}>
                      {(session) => <Bar session={session()} span={span()} onOpen={() => props.onOpen(session())} />}
                    </Show>
                  )}
                </For>
              </div>
            </li>
          )}
        </For>
      </ul>
      <p class="session-span faint small num">
        <time datetime={new Date(span().from).toISOString()} title={exactTime(span().from)}>
          {timeOf(span().from)}
        </time>
        <time datetime={new Date(span().until).toISOString()} title={exactTime(span().until)}>
          {timeOf(span().until)}
        </time>
      </p>
    </div>
  );
}

function Bar(props: { session: McpSession; span: Span; onOpen: () => void }) {
  const bar = createMemo(() => barOf(props.session, props.span));
  const words = () => {
    const { client, started_at, calls, errors } = props.session;
    return `${client ?? UNKNOWN}, ${minuteTime(started_at)}: ${plural(calls, 'call')}, ${plural(errors, 'error')}`;
  };
  return (
    <button
      type="button"
      aria-label={words()}
      title={words()}
      data-failed={props.session.errors > 0 ? 'true' : undefined}
      style={{
        left: `min(${bar().left}%, 100% - ${LEAST_PX}px)`,
        width: `${bar().width}%`,
        // A short session lies above a long one.
        'z-index': Math.round(100 - bar().width),
      }}
      onClick={() => props.onOpen()}
    />
  );
}

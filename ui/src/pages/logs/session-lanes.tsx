import { createMemo, For } from 'solid-js';
import { minuteTime } from '#ui/src/kernel/dates.ts';
import { plural } from '#ui/src/kernel/words.ts';
import type { McpSession } from './sessions-panel.tsx';

/** Sessions that take no time are still to be seen and pressed. */
const LEAST_SHARE = 0.8;
const UNKNOWN = 'Unnamed client';

export const lanesOf = (sessions: readonly McpSession[]) => {
  const from = Math.min(...sessions.map(({ started_at }) => Date.parse(started_at)));
  const until = Math.max(...sessions.map(({ last_at }) => Date.parse(last_at)));
  const span = Math.max(1, until - from);
  const share = (ms: number) => (ms / span) * 100;
  const lanes = Map.groupBy(sessions, ({ client }) => (client ?? '') || UNKNOWN);
  return [...lanes]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([client, own]) => ({
      client,
      bars: own.map((session) => {
        const width = Math.max(LEAST_SHARE, share(Date.parse(session.last_at) - Date.parse(session.started_at)));
        return { session, left: Math.min(share(Date.parse(session.started_at) - from), 100 - width), width };
      }),
    }));
};

/** One lane for each client, along the time from the first session to the last. */
export function SessionLanes(props: { sessions: readonly McpSession[]; onOpen: (session: McpSession) => void }) {
  const lanes = createMemo(() => lanesOf(props.sessions));
  const words = ({ client, started_at, calls, errors }: McpSession) =>
    `${client ?? UNKNOWN}, ${minuteTime(started_at)}: ${plural(calls, 'call')}, ${plural(errors, 'error')}`;
  return (
    <ul class="session-lanes" aria-label="Sessions by client">
      <For each={lanes()}>
        {(lane) => (
          <li>
            <span class="truncate" title={lane.client}>
              {lane.client}
            </span>
            <div class="session-track">
              <For each={lane.bars}>
                {(bar) => (
                  <button
                    type="button"
                    aria-label={words(bar.session)}
                    title={words(bar.session)}
                    data-failed={bar.session.errors > 0 ? 'true' : undefined}
                    style={{ left: `${bar.left}%`, width: `${bar.width}%` }}
                    onClick={() => props.onOpen(bar.session)}
                  />
                )}
              </For>
            </div>
          </li>
        )}
      </For>
    </ul>
  );
}

import { plural } from '#ui/src/kernel/words.ts';
import { LOG_LEVELS } from '#core/contract/log-levels.ts';
import { createEffect, createMemo, createSignal, on, Show } from 'solid-js';
import { StatusDot, type Tone } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { CopyButton } from '#ui/src/components/show/code-block.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { FilterBar, FilterSelect } from '#ui/src/components/table/filter-bar.tsx';
import { KeyValue } from '#ui/src/components/show/key-value.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { exactTime } from '#ui/src/kernel/dates.ts';
import { useCopy } from '#ui/src/components/use-copy.ts';
import { DrawerOf } from '#ui/src/components/dialog-of.tsx';
import { useCommands, useKernel, useLine } from '#ui/src/kernel/kernel.ts';
import { createLiveLog, type Line, lineText, searchEntries, SOURCES } from '#ui/src/features/log/live-log.ts';
import { createLiveStream, type StreamState } from '#ui/src/kernel/data/live-stream.ts';
import { choice, createSearchParams, oneOf, text } from '#ui/src/kernel/route/search-params.ts';
import { LogList } from './log-list.tsx';
import { LEVEL_WORDS, SOURCE_WORDS, STATE_WORDS } from './words.ts';

const STATE_TONE = { open: 'good', connecting: 'info', waiting: 'warning', closed: 'plain' } as const satisfies Record<
  StreamState,
  Tone
>;

/** What happens now on the server and its hosts. */
export function LivePanel() {
  const { call, router } = useKernel();
  const copy = useCopy();
  const params = createSearchParams(router, {
    level: oneOf(['INFO', ...LOG_LEVELS]),
    source: choice(SOURCES),
    q: text(),
  });
  const [follow, setFollow] = createSignal(true);
  const [shown, setShown] = createSignal<Line>();
  const log = createLiveLog(window.location.origin.replace(/^http/, 'ws'), () => stream.reopen());
  const stream = createLiveStream({
    url: () => log.url(),
    onMessage: (frame) => log.take(frame),
    // The next call finds out that the session is over, and says so.
    onFinal: () => void call('deploy.status', {}).catch(() => undefined),
  });
  const entries = createMemo(() => searchEntries(log.entries(), params.get('q').trim()));
  let search: HTMLInputElement | undefined;

  createEffect(on([() => params.get('level'), () => params.get('source')], ([level, source]) => log.select({ level, source })));
  useLine(stream);
  const toggle = () => (log.paused() ? log.resume() : log.pause());
  useCommands([
    { id: 'log-pause', title: 'Pause or resume the live log', group: 'This page', key: 'p', run: toggle },
    { id: 'log-search', title: 'Find in the live log', group: 'This page', key: '/', run: () => search?.focus() },
    { id: 'log-clear', title: 'Clear the live log', group: 'This page', run: () => log.clear() },
  ]);
  const copyAll = () => {
    const lines = entries().flatMap((entry) => ('line' in entry ? [lineText(entry.line)] : []));
    void copy(lines.join('\n'), `${plural(lines.length, 'line')} copied.`);
  };

  return (
    <div class="stack logs-live" data-gap="3">
      <FilterBar
        search={{
          label: 'Search lines',
          value: params.get('q'),
          onInput: (q) => params.set({ q }),
          ref: (input) => (search = input),
        }}
        end={
          <StatusDot
            tone={STATE_TONE[stream.state()]}
            label={STATE_WORDS[stream.state()]}
            pulse={stream.state() === 'connecting'}
          />
        }
      >
        <Select
          label="Level"
          hide_label
          value={params.get('level')}
          onChange={(level) => params.set({ level })}
          options={LOG_LEVELS.map((value) => ({ value, label: LEVEL_WORDS[value] }))}
        />
        <FilterSelect
          of={params}
          name="source"
          label="Program"
          all="All programs"
          options={SOURCES.map((value) => ({ value, label: SOURCE_WORDS[value] }))}
        />
        <div class="row">
          <Button size="small" aria-pressed={log.paused()} icon={log.paused() ? 'play' : 'pause'} onPress={toggle}>
            {log.paused() ? (log.waiting() > 0 ? `Resume, ${plural(log.waiting(), 'new line')}` : 'Resume') : 'Pause'}
          </Button>
          <Button size="small" kind="quiet" aria-pressed={follow()} onPress={() => setFollow(!follow())}>
            Follow
          </Button>
          <Button size="small" kind="quiet" onPress={() => copyAll()}>
            Copy
          </Button>
          <Button size="small" kind="quiet" onPress={() => log.clear()}>
            Clear
          </Button>
        </div>
      </FilterBar>
      <Show
        when={entries().length > 0}
        fallback={
          <div class="logs-none">
            <EmptyState title={params.get('q') === '' ? 'No log lines yet' : 'No results'}>
              {params.get('q') === '' ? 'Lines appear as they are written.' : 'Change the search or the level.'}
            </EmptyState>
          </div>
        }
      >
        <LogList entries={entries()} follow={follow() && !log.paused()} onFollow={setFollow} onOpen={setShown} />
      </Show>
      <DrawerOf of={shown()} title="Log line" onClose={() => setShown(undefined)}>
        {(line) => <LineDetail line={line} />}
      </DrawerOf>
    </div>
  );
}

function LineDetail(props: { line: Line }) {
  return (
    <div class="stack">
      <KeyValue
        items={[
          { label: 'Time', value: exactTime(props.line.timestamp), copy: props.line.timestamp },
          { label: 'Level', value: props.line.level },
          { label: 'Program', value: SOURCE_WORDS[props.line.source] },
          { label: 'Message', value: props.line.message },
          ...Object.entries(props.line.fields ?? {}).map(([label, value]) => ({
            label,
            value: String(value),
            mono: true,
            copy: String(value),
          })),
        ]}
      />
      <div class="row">
        <CopyButton text={lineText(props.line)} label="the line" kind="plain" />
      </div>
    </div>
  );
}

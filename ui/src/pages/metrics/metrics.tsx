import { createMemo, For, Show } from 'solid-js';
import { CALLER_KEYS, type CallerKey } from '#core/contract/observe/metric-ranges.ts';
import { Button } from '#ui/src/components/button.tsx';
import { SegmentedControl, Switch } from '#ui/src/components/form/choice.tsx';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { Menu } from '#ui/src/components/menu.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { Failed } from '#ui/src/components/notice.tsx';
import { Aging } from '#ui/src/components/show/aging.tsx';
import { Skeleton } from '#ui/src/components/skeleton.tsx';
import { Stat, StatGrid } from '#ui/src/components/show/stat.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import {
  type CallerFilter,
  callsFilter,
  callsHref,
  callsRange,
  canCompare,
  changeOf,
  errorTone,
  fromKey,
  minutesOf,
  type Range,
  rangeInput,
  seriesInput,
  toRows,
  topBy,
  totalsOf,
  type UsageRow,
} from '#ui/src/kernel/metrics.ts';
import { rangeWords } from '#ui/src/kernel/metrics-words.ts';
import { count, percent, tenths } from '#ui/src/kernel/numbers.ts';
import { createSearchParams, flag, oneOf, text } from '#ui/src/kernel/route/search-params.ts';
import { createSelection } from '#ui/src/kernel/selection.ts';
import { duration } from '#ui/src/kernel/words.ts';
import { CallerTable } from './caller-table.tsx';
import { ComparePanel } from './compare-panel.tsx';
import { saveMetrics } from './export.ts';
import { RangePicker } from './range-picker.tsx';
import { SeriesPanel } from './series-panel.tsx';
import { UsageTable } from './usage-table.tsx';
import { CALLER_WORDS } from './words.ts';
import './metrics.css';

/** Metrics of tools, resources and prompts by caller, duration and errors: all of them, or one of them beside the others. */
export function Metrics() {
  const { router, call, toasts } = useKernel();
  // The default is the last day, since most visits follow a recent problem.
  const params = createSearchParams(router, {
    period: oneOf(['24h', '1h', '6h', '7d']),
    from: text(),
    until: text(),
    of: text(),
    by: oneOf(['tool', ...CALLER_KEYS]),
    compare: flag(),
    client: text(),
    person: text(),
    token: text(),
  });
  const range = createMemo<Range>((before) => {
    const [since, until] = [params.get('from'), params.get('until')];
    const next = isTime(since) && isTime(until) ? { since, until } : params.get('period');
    // An equal range stays the same object.
    return before !== undefined && JSON.stringify(before) === JSON.stringify(next) ? before : next;
  });
  const setRange = (to: Range) =>
    params.set(typeof to === 'string' ? { period: to, from: '', until: '' } : { from: to.since, until: to.until });
  const by = () => params.get('by');
  const caller = (key: CallerKey) => params.get(key);
  const filter = createMemo(() =>
    Object.fromEntries(CALLER_KEYS.flatMap((key) => (caller(key) === '' ? [] : [[key, caller(key)] as const]))),
  );
  const comparing = () => params.get('compare') === true && canCompare(range(), Date.now());
  const stats = useQuery(
    (read) =>
      read('metrics.stats', {
        ...rangeInput(range()),
        ...filter(),
        ...(by() === 'tool' ? {} : { by: by() }),
        ...(comparing() ? { compare: true } : {}),
      }),
    { watch: () => [range(), by(), comparing(), ...CALLER_KEYS.map(caller)] },
  );
  const rows = createMemo(() => {
    const given = stats.data();
    return given === undefined ? undefined : toRows(given);
  });
  const before = createMemo(() => {
    const given = stats.data()?.previous;
    return given === undefined ? undefined : toRows(given);
  });
  /** Hides the placeholder when there is an error. */
  const shown = () => stats.data() !== undefined || stats.problem() === undefined;
  const chosen = () => fromKey(params.get('of'));
  const chosenRow = () => rows()?.find(({ key }) => key === params.get('of'));
  const compared = createSelection();
  const openCaller = (key: string) => {
    const kind = by();
    if (kind !== 'tool') params.set({ [kind]: key === caller(kind) ? '' : key });
  };
  const saveTable = (form: 'csv' | 'json') => () => {
    const callers = stats.data()?.callers;
    saveMetrics(
      form,
      by() === 'tool' || callers === undefined ? { what: 'usage', rows: rows() ?? [] } : { what: 'callers', rows: callers },
    );
  };
  const saveSeries = (form: 'csv' | 'json') => () => {
    const of = chosen();
    const input = { ...seriesInput(range()), ...filter(), ...(of === undefined ? {} : { tool: of.name, kind: of.kind }) };
    void call('metrics.timeseries', input).then(
      ({ points }) => saveMetrics(form, { what: 'series', rows: points }),
      () => toasts.show('The metrics couldn’t be downloaded. Try again.', 'bad'),
    );
  };
  const byWhat = () => (
    <SegmentedControl
      label="Group by"
      value={by()}
      onChange={(value) => params.set({ by: value })}
      options={[
        { value: 'tool' as const, label: 'Tools' },
        ...CALLER_KEYS.map((value) => ({ value, label: CALLER_WORDS[value].label })),
      ]}
    />
  );

  return (
    <Page
      title="Metrics"
      lead="Calls, errors and durations."
      actions={
        <Menu
          label="Download"
          trigger="Download"
          items={[
            { label: 'Table as CSV', onSelect: saveTable('csv'), disabled: stats.data() === undefined },
            { label: 'Table as JSON', onSelect: saveTable('json'), disabled: stats.data() === undefined },
            { label: 'Chart as CSV', onSelect: saveSeries('csv') },
            { label: 'Chart as JSON', onSelect: saveSeries('json') },
          ]}
        />
      }
    >
      <div class="metrics-controls">
        <RangePicker range={range()} onChange={setRange} />
        <Switch
          label="Compare with the previous period"
          checked={params.get('compare') === true}
          onChange={(checked) => params.set({ compare: checked ? true : undefined })}
          hint={
            params.get('compare') === true && !comparing()
              ? 'The previous period is past retention. Choose a shorter or more recent range.'
              : undefined
          }
        />
        <For each={CALLER_KEYS.filter((key) => caller(key) !== '')}>
          {(key) => (
            <Button
              size="small"
              icon="close"
              onPress={() => params.clear(key)}
              aria-label={`Show every ${CALLER_WORDS[key].one.toLowerCase()}`}
            >
              {`${CALLER_WORDS[key].one}: ${caller(key)}`}
            </Button>
          )}
        </For>
      </div>
      <Failed of={stats} />
      <Show when={shown()}>
        <Aging of={stats}>
          <Totals rows={rows()} before={before()} range={range()} filter={filter()} />
        </Aging>
      </Show>
      <SeriesPanel
        range={range()}
        filter={filter()}
        compare={comparing()}
        of={chosen()}
        usage={chosenRow()}
        refreshed={stats.data()}
        onBack={() => params.clear('of')}
        onZoom={setRange}
      />
      <Show when={compared.count() > 1}>
        <ComparePanel range={range()} filter={filter()} keys={[...compared.ids()]} refreshed={stats.data()} />
      </Show>
      <Show when={shown()}>
        <Show
          when={CALLER_KEYS.find((key) => key === by())}
          fallback={
            <UsageTable
              rows={rows()}
              range={range()}
              filter={filter()}
              current={params.get('of')}
              selection={compared}
              actions={byWhat()}
              onOpen={(row) => {
                params.set({ of: row.key === params.get('of') ? '' : row.key });
                document.querySelector('#main')?.scrollIntoView({ block: 'start' });
              }}
            />
          }
        >
          {(kind) => (
            <CallerTable
              by={kind()}
              rows={stats.data()?.callers}
              current={caller(kind())}
              onOpen={openCaller}
              actions={byWhat()}
            />
          )}
        </Show>
      </Show>
    </Page>
  );
}

const rateOf = (per_minute: number): string =>
  per_minute > 0 && per_minute < 0.1 ? 'less than 0.1 per minute' : `${tenths(per_minute)} per minute`;

const isTime = (text: string): boolean => text !== '' && !Number.isNaN(Date.parse(text));

function Totals(props: {
  rows: readonly UsageRow[] | undefined;
  before: readonly UsageRow[] | undefined;
  range: Range;
  filter: CallerFilter;
}) {
  const callsOf = (outcome?: 'failed') => {
    const whose = callsFilter(props.filter);
    return whose && callsHref({ ...(outcome && { outcome }), ...whose, ...callsRange(props.range) });
  };
  const total = () => totalsOf(props.rows ?? []);
  /** The previous value and the difference. */
  const than = (hint: string, now: number, read: (rows: readonly UsageRow[]) => number, format: (value: number) => string) => {
    if (props.before === undefined) return hint;
    const past = read(props.before);
    const change = changeOf(now, past);
    return `${change === undefined ? '' : `${change}, `}${format(past)} before`;
  };
  const highest = (rows: readonly UsageRow[]) => topBy(rows, 'p95_ms', 1)[0]?.p95_ms ?? 0;
  const slowest = () => topBy(props.rows ?? [], 'p95_ms', 1)[0];
  const known = (text: () => string) => (
    <Show when={props.rows} fallback={<Skeleton width="half" height="1.75rem" />}>
      {text()}
    </Show>
  );
  return (
    <StatGrid>
      <Stat
        label="Calls"
        value={known(() => count(total().calls))}
        hint={than(rateOf(total().calls / minutesOf(props.range)), total().calls, (rows) => totalsOf(rows).calls, count)}
        href={callsOf()}
      />
      <Stat
        label="Errors"
        value={known(() => count(total().errors))}
        hint={than(`${percent(total().error_rate)} of calls`, total().errors, (rows) => totalsOf(rows).errors, count)}
        tone={total().errors === 0 ? 'plain' : errorTone(total().error_rate)}
        href={callsOf('failed')}
      />
      <Stat
        label="Average"
        value={known(() => (total().calls === 0 ? '–' : duration(total().avg_ms)))}
        hint={than(rangeWords(props.range), total().avg_ms, (rows) => totalsOf(rows).avg_ms, duration)}
      />
      <Stat
        label="Highest p95"
        value={known(() => (total().calls === 0 ? '–' : duration(slowest()?.p95_ms ?? 0)))}
        hint={
          <Show
            when={props.before}
            fallback={
              <span class="mono">
                <Breakable text={slowest()?.name ?? 'No calls'} />
              </span>
            }
          >
            {than('', slowest()?.p95_ms ?? 0, highest, duration)}
          </Show>
        }
      />
    </StatGrid>
  );
}

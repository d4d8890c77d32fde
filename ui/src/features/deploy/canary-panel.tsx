import { For, Show } from 'solid-js';
import { CANARY_CHOICES, type CanarySide, type CanaryState } from '#core/contract/observe/canary-state.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { passesFocus } from '#ui/src/components/form/passes-focus.ts';
import { Notice } from '#ui/src/components/notice.tsx';
import { Link } from '#ui/src/components/link.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { exactTime } from '#ui/src/kernel/dates.ts';
import { callsHref } from '#ui/src/kernel/metrics.ts';
import { count, percent } from '#ui/src/kernel/numbers.ts';
import { duration } from '#ui/src/kernel/words.ts';
import type { Deployment } from './deployment.ts';
import './canary.css';

const TONES = { running: 'warning', promoted: 'good', aborted: 'bad' } as const;

/**
 * The canary that runs with both sides, or how the last one ended.
 * @param props.onRefused leads to where the page says why.
 */
export function CanaryPanel(props: { deployment: Deployment; canary: CanaryState; onRefused: () => void }) {
  const { dialogs, toasts } = useKernel();
  const act = async (work: Promise<boolean>, text: string) => {
    if (await work) toasts.show(text);
    else props.onRefused();
  };
  const running = () => props.canary.status === 'running';
  const busy = () => props.deployment.phase() === 'deploying';
  /** The live version, when it is another than the canary began beside. */
  const other = () => {
    const version = props.deployment.status.data()?.snapshot_version ?? props.canary.base_version;
    return version === props.canary.base_version || version === props.canary.version ? undefined : version;
  };
  const replaces = () => (other() === undefined ? '' : ` It replaces version ${other()}, which was deployed while it ran.`);
  const promote = async () => {
    // Another one may run before the person has answered.
    const { id } = props.canary;
    const agreed = await dialogs.confirm({
      title: 'Promote the canary?',
      text: `The canary becomes the next version, and every caller gets it at once.${replaces()}`,
      action: 'Promote',
    });
    if (agreed) await act(props.deployment.promote(id), 'Promoted. Every caller gets this version now.');
  };
  const abort = async () => {
    const { id } = props.canary;
    const agreed = await dialogs.confirm({
      title: 'Abort the canary?',
      text: 'Its callers get the live version again at once.',
      action: 'Abort canary',
      danger: true,
    });
    if (agreed) await act(props.deployment.abort(id), 'Aborted. Every caller gets the live version.');
  };
  return (
    <Panel
      title="Canary"
      lead={props.canary.note ?? undefined}
      actions={
        <Show when={running()}>
          <div class="row" ref={passesFocus}>
            <Button size="small" kind="primary" needs="deploy.promote" busy={busy()} onPress={() => void promote()}>
              Promote
            </Button>
            <Button size="small" needs="deploy.abort" blocked={busy()} onPress={() => abort()}>
              Abort
            </Button>
          </div>
        </Show>
      }
    >
      <p class="row">
        <Badge tone={TONES[props.canary.status]} dot pulse={running()}>
          {CANARY_CHOICES[props.canary.status].label}
        </Badge>
        <Show
          when={running()}
          fallback={
            <span class="small soft">
              <Show when={props.canary.ended_at}>{(iso) => <Ago iso={iso()} />}</Show>
            </span>
          }
        >
          <Live canary={props.canary} other={other()} />
        </Show>
      </p>
      <Show when={props.canary.reason}>
        {(reason) => <Notice tone={props.canary.status === 'promoted' ? 'good' : 'warning'}>{reason()}</Notice>}
      </Show>
      <Sides canary={props.canary} other={other()} />
      <p class="small">
        <Link href={callsHref({ range: 'all', canary: props.canary.id })}>Calls of the canary</Link>
      </p>
    </Panel>
  );
}

function Live(props: { canary: CanaryState; other: number | undefined }) {
  return (
    <span class="small soft">
      {`Serves ${percent(props.canary.percent / 100)} of callers. ${props.other === undefined ? 'Promotes' : 'Aborts'} automatically at `}
      <time datetime={props.canary.ends_at}>{exactTime(props.canary.ends_at)}</time>
      {props.other === undefined ? '.' : `, since version ${props.other} was deployed while it ran.`}
    </span>
  );
}

const MEASURES: readonly {
  readonly label: string;
  readonly text: (side: CanarySide) => string;
  readonly size: (side: CanarySide) => number;
}[] = [
  { label: 'Calls', text: ({ calls }) => count(calls), size: ({ calls }) => calls },
  {
    label: 'Errors',
    text: ({ errors, error_rate }) => `${count(errors)} (${percent(error_rate)})`,
    size: ({ error_rate }) => error_rate,
  },
  { label: 'p95', text: ({ calls, p95_ms }) => (calls === 0 ? '–' : duration(p95_ms)), size: ({ p95_ms }) => p95_ms },
];

function Sides(props: { canary: CanaryState; other: number | undefined }) {
  const limits = () => {
    const { max_error_rate, max_p95_ratio, min_calls } = props.canary;
    const errors = max_error_rate === null ? [] : [`more than ${percent(max_error_rate)} of its calls fail`];
    const slow = max_p95_ratio === null ? [] : [`its p95 is more than ${max_p95_ratio} times that of the live version`];
    const all = [...errors, ...slow];
    return all.length === 0
      ? 'No limits are set.'
      : `Aborts automatically when ${all.join(' or ')}, after ${count(min_calls)} calls.`;
  };
  const share = (of: (side: CanarySide) => number, side: CanarySide) => {
    const most = Math.max(of(props.canary.live), of(props.canary.canary));
    return most === 0 ? '0%' : `${(of(side) / most) * 100}%`;
  };
  return (
    <>
      <table class="canary-sides" aria-label="Both sides of the canary">
        <thead>
          <tr>
            <td />
            <th scope="col">{`Live (version ${props.canary.base_version}${props.other === undefined ? '' : `, now ${props.other}`})`}</th>
            <th scope="col">Canary</th>
          </tr>
        </thead>
        <tbody>
          <For each={MEASURES}>
            {(measure) => (
              <tr>
                <th scope="row">{measure.label}</th>
                <For each={[props.canary.live, props.canary.canary]}>
                  {(side, index) => (
                    <td class="num">
                      {measure.text(side)}
                      <span
                        class="canary-bar"
                        data-side={index() === 0 ? 'live' : 'canary'}
                        style={{ width: share(measure.size, side) }}
                        aria-hidden="true"
                      />
                    </td>
                  )}
                </For>
              </tr>
            )}
          </For>
        </tbody>
      </table>
      <Show when={props.canary.status === 'running'}>
        <p class="small soft">{limits()}</p>
      </Show>
    </>
  );
}

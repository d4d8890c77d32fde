import { createSignal, For, onCleanup, onMount, Show } from 'solid-js';
import { StatusDot } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { KeyValue } from '#ui/src/components/key-value.tsx';
import { Notice, ProblemNotice } from '#ui/src/components/notice.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createLiveLog } from '#ui/src/kernel/live-log.ts';
import { createLiveStream } from '#ui/src/kernel/live-stream.ts';
import { createMutation } from '#ui/src/kernel/mutation.ts';
import { STATUS, TLS } from './tls-words.ts';

const POLL_MS = 2_000;
const SHOWN_LINES = 60;
const day = (iso: string) => new Date(iso).toLocaleDateString('en', { day: 'numeric', month: 'short', year: 'numeric' });

/** The certificate as it stands, the order of a new one, and its steps while they happen. */
export function Certificate(props: { enabled: boolean; dirty: boolean }) {
  const { call, toasts } = useKernel();
  const [opened] = createSignal(Date.now());
  const status = useQuery((signal) => call('ssl.status', {}, signal), { every_ms: POLL_MS });
  const issue = createMutation((force: boolean) => call('ssl.issue', force ? { force } : {}));
  const log = createLiveLog(window.location.origin.replace(/^http/, 'ws'));
  const stream = createLiveStream({
    url: () => log.url(),
    onMessage: (frame) => log.take(frame),
    onFinal: () => void call('deploy.status', {}).catch(() => undefined),
  });
  log.select({ source: 'tls' });
  onMount(() => stream.open());
  onCleanup(() => stream.close());

  const lines = () =>
    log
      .entries()
      .flatMap((entry) => ('line' in entry ? [entry.line] : []))
      .filter(({ timestamp }) => Date.parse(timestamp) >= opened() - 60_000)
      .slice(-SHOWN_LINES);
  const good = () => status.data()?.status === 'issued' || status.data()?.status === 'expiring_soon';
  const order = async () => {
    if ((await issue.run(good())) === undefined) return;
    toasts.show(TLS.ordered);
    await status.reload();
  };

  return (
    <Section title={TLS.certificate} lead={TLS.certificate_lead}>
      <Show when={status.problem()}>
        {(problem) => <ProblemNotice problem={problem()} onRetry={() => void status.reload()} />}
      </Show>
      <Show when={status.data()} fallback={<SkeletonList rows={3} label="Reading the certificate" />}>
        {(now) => (
          <>
            <KeyValue
              items={[
                {
                  label: TLS.state,
                  value: (
                    <span class="row">
                      <StatusDot
                        tone={STATUS[now().status].tone}
                        label={STATUS[now().status].label}
                        pulse={now().status === 'pending'}
                      />
                      <span class="small soft">{STATUS[now().status].about}</span>
                    </span>
                  ),
                },
                now().domains.length > 0 && { label: TLS.domains, value: now().domains.join(', '), mono: true },
                now().issuer !== null && { label: TLS.issuer, value: now().issuer },
                now().valid_from !== null &&
                  now().valid_until !== null && {
                    label: TLS.valid,
                    value: (
                      <span>
                        {TLS.until(day(now().valid_from ?? ''), day(now().valid_until ?? ''))}
                        <Show when={now().days_remaining !== null}>
                          <span class="faint"> · {TLS.left(now().days_remaining ?? 0)}</span>
                        </Show>
                      </span>
                    ),
                  },
                now().next_renewal_at !== null && { label: TLS.next, value: day(now().next_renewal_at ?? '') },
              ]}
            />
            <Show when={now().last_error}>{(error) => <Notice tone="bad">{error()}</Notice>}</Show>
            <Show when={issue.problem()}>
              {(problem) => (
                <Notice tone="bad" live>
                  <p>{problem().detail}</p>
                </Notice>
              )}
            </Show>
            <div class="row">
              <Button
                icon="lock"
                busy={issue.busy() || now().status === 'pending'}
                blocked={!props.enabled || props.dirty}
                onPress={() => void order()}
              >
                {good() ? TLS.renew_now : TLS.order}
              </Button>
              <Show when={!props.enabled || props.dirty}>
                <span class="small faint">{props.dirty ? TLS.save_first : TLS.off}</span>
              </Show>
            </div>
          </>
        )}
      </Show>
      <div>
        <h3 class="settings-sub">{TLS.log}</h3>
        <Show when={lines().length > 0} fallback={<p class="small faint">{TLS.log_none}</p>}>
          <ol class="settings-log" tabindex="0" role="log" aria-label={TLS.log}>
            <For each={lines()}>
              {(line) => (
                <li data-level={line.level}>
                  <time class="num faint" datetime={line.timestamp}>
                    {new Date(line.timestamp).toLocaleTimeString('en', { hourCycle: 'h23' })}
                  </time>
                  <span>
                    {line.message}
                    <For each={Object.entries(line.fields ?? {})}>
                      {([name, value]) => <span class="faint">{` ${name}=${String(value)}`}</span>}
                    </For>
                  </span>
                </li>
              )}
            </For>
          </ol>
        </Show>
      </div>
    </Section>
  );
}

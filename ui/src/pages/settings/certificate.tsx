import { createEffect, createSignal, For, on, Show } from 'solid-js';
import { CERTIFICATE_CHOICES, type SslStatus } from '#core/contract/deploy/ssl.ts';
import { StatusDot, type Tone } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { KeyValue } from '#ui/src/components/show/key-value.tsx';
import { Fault, Notice } from '#ui/src/components/notice.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { usePoll, useQuery } from '#ui/src/components/use-query.ts';
import { Loaded } from '#ui/src/components/show/loaded.tsx';
import { useKernel, useLine } from '#ui/src/kernel/kernel.ts';
import { createLiveLog } from '#ui/src/features/log/live-log.ts';
import { createLiveStream } from '#ui/src/kernel/data/live-stream.ts';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';
import { clockTime, exactTime, fullDay } from '#ui/src/kernel/dates.ts';
import { plural } from '#ui/src/kernel/words.ts';

const TONES: Readonly<Record<SslStatus['status'], Tone>> = {
  none: 'plain',
  pending: 'info',
  issued: 'good',
  expiring_soon: 'warning',
  expired: 'bad',
  error: 'bad',
};

/** Poll interval of a pending request, in addition to the log stream. */
const PENDING_MS = 2_000;
const SHOWN_LINES = 60;

/** The current certificate, a request for a new one, and the steps of the request. */
export function Certificate(props: { enabled: boolean; dirty: boolean }) {
  const { call, toasts } = useKernel();
  const [opened] = createSignal(Date.now());
  const status = useQuery((read) => read('ssl.status', {}));
  const issue = createMutation((force: boolean) => call('ssl.issue', force ? { force } : {}));
  const log = createLiveLog(window.location.origin.replace(/^http/, 'ws'));
  const stream = createLiveStream({
    url: () => log.url(),
    onMessage: (frame) => log.take(frame),
    onFinal: () => void call('deploy.status', {}).catch(() => undefined),
  });
  log.select({ source: 'tls' });
  // Every step of a request writes a log line, which triggers a reload; an expiry shows on the next visit.
  createEffect(
    on(
      () => lines().at(-1),
      () => void status.reload(),
      { defer: true },
    ),
  );
  usePoll(async () => {
    if (status.data()?.status === 'pending') await status.reload();
  }, PENDING_MS);
  useLine(stream);

  const lines = () =>
    log
      .entries()
      .flatMap((entry) => ('line' in entry ? [entry.line] : []))
      .filter(({ timestamp }) => Date.parse(timestamp) >= opened() - 60_000)
      .slice(-SHOWN_LINES);
  const good = () => status.data()?.status === 'issued' || status.data()?.status === 'expiring_soon';
  const order = async () => {
    if ((await issue.run(good())) === undefined) return;
    toasts.show('Certificate requested.');
    await status.reload();
  };

  return (
    <Section title="Certificate" lead="A request takes a few seconds. Its steps appear in the log below.">
      <Loaded of={status} rows={3} label="Loading the certificate">
        {(now) => (
          <>
            <KeyValue
              items={[
                {
                  label: 'Status',
                  value: (
                    <span class="row">
                      <StatusDot
                        tone={TONES[now().status]}
                        label={CERTIFICATE_CHOICES[now().status].label}
                        pulse={now().status === 'pending'}
                      />
                      <span class="small soft">{CERTIFICATE_CHOICES[now().status].help}</span>
                    </span>
                  ),
                },
                now().domains.length > 0 && { label: 'Domains', value: now().domains.join(', '), mono: true },
                now().issuer !== null && { label: 'Issuer', value: now().issuer },
                now().valid_from !== null &&
                  now().valid_until !== null && {
                    label: 'Valid',
                    value: (
                      <span>
                        {`${fullDay(now().valid_from ?? '')} to ${fullDay(now().valid_until ?? '')}`}
                        <Show when={now().days_remaining !== null}>
                          <span class="faint"> · {plural(now().days_remaining ?? 0, 'day')} left</span>
                        </Show>
                      </span>
                    ),
                  },
                now().next_renewal_at !== null && { label: 'Next renewal', value: fullDay(now().next_renewal_at ?? '') },
              ]}
            />
            <Show when={now().last_error}>{(error) => <Notice tone="bad">{error()}</Notice>}</Show>
            <Fault text={issue.problem()?.detail} />
            <div class="row">
              <Button
                icon="lock"
                busy={issue.busy() || now().status === 'pending'}
                blocked={!props.enabled || props.dirty}
                onPress={() => void order()}
              >
                {good() ? 'Renew now' : 'Request certificate'}
              </Button>
              <Show when={!props.enabled || props.dirty}>
                <span class="small faint">
                  {props.dirty
                    ? 'Save the settings first. Requests use what is stored.'
                    : 'HTTPS is disabled. Enable it and save first.'}
                </span>
              </Show>
            </div>
          </>
        )}
      </Loaded>
      <div>
        <h3 class="sub-head">Log</h3>
        <Show when={lines().length > 0} fallback={<p class="small faint">No request since this page was opened.</p>}>
          <ol class="settings-log" tabindex="0" role="log" aria-label="Certificate log">
            <For each={lines()}>
              {(line) => (
                <li data-level={line.level}>
                  <time class="num faint" datetime={line.timestamp} title={exactTime(line.timestamp)}>
                    {clockTime(line.timestamp)}
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

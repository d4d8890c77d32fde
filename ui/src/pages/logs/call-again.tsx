import { Show } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import type { Members } from '#core/lib/view/table.ts';
import { Button } from '#ui/src/components/button.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Failed, Notice } from '#ui/src/components/notice.tsx';
import { type CalledTool, callOnce } from '#ui/src/features/run/call-once.ts';
import { refusalTitle } from '#ui/src/features/run/mcp-client.ts';
import { allArguments } from '#ui/src/features/run/logged-arguments.ts';
import { ResultView } from '#ui/src/features/run/result-view.tsx';
import { createRunner } from '#ui/src/features/run/runner.ts';
import { KeepTest } from '#ui/src/features/tests/keep-test.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { callsHref, keyOf, metricsHref } from '#ui/src/kernel/metrics.ts';
import { duration, plural } from '#ui/src/kernel/words.ts';
import { testOfCall } from './test-of-call.ts';

/** What was called, as it is defined now. */
export interface Definition {
  readonly id: string;
  /** A tool that changes nothing. */
  readonly reads: boolean;
  /** Whether callers send anything. */
  readonly has_arguments: boolean;
}

/** Where to go on from a call: run it again, keep it, look at what it called. */
export function CallAgain(props: { of: Output<'logs.get'>; definition: Definition | undefined }) {
  const { call, send } = useKernel();
  const runner = createRunner((values: Members, signal) => callOnce(send, props.of.name, values, signal));
  /** What to send, when all of it is known. */
  const values = (): Members | undefined => {
    if (props.definition?.reads !== true) return undefined;
    return allArguments(props.of) ?? (props.definition.has_arguments ? undefined : {});
  };
  const playground = () => `/playground?${new URLSearchParams({ [props.of.kind]: props.of.name, call: props.of.id })}`;
  return (
    <>
      <div class="row">
        <Show when={values()}>
          {(sent) => (
            <Button size="small" kind="primary" icon="play" busy={runner.busy()} onPress={() => void runner.run(sent())}>
              Run again
            </Button>
          )}
        </Show>
        <LinkButton size="small" href={playground()}>
          Run again in the playground
        </LinkButton>
        <Show when={props.definition}>
          {(definition) => (
            <>
              <KeepTest about={() => testOfCall(call, props.of, definition().id, runner.result())} />
              <LinkButton size="small" href={`/${props.of.kind}s/${definition().id}`}>
                Open definition
              </LinkButton>
            </>
          )}
        </Show>
        <LinkButton size="small" href={metricsHref('24h', keyOf(props.of.kind, props.of.name))}>
          View metrics
        </LinkButton>
        <Show when={!props.of.success}>
          <LinkButton size="small" href={callsHref({ kind: props.of.kind, name: props.of.name, outcome: 'failed', range: '7d' })}>
            View all failures
          </LinkButton>
        </Show>
      </div>
      <Failed of={runner} />
      <Show when={runner.result()}>{(called) => <Again called={called()} />}</Show>
    </>
  );
}

function Again(props: { called: CalledTool }) {
  const rows = () => props.called.result?.table?.rows.length;
  const summary = () => {
    const count = rows();
    return [...(count === undefined ? [] : [plural(count, 'row')]), `in ${duration(props.called.ms)}`].join(' ');
  };
  return (
    <section class="stack" aria-label="Result of running it again">
      <h3>Result now</h3>
      <p class="soft small">Called as you, on the deployed version.</p>
      <Show when={props.called.refusal}>
        {(refusal) => (
          <Notice tone="bad" title={refusalTitle(refusal())}>
            <p>{refusal().detail}</p>
          </Notice>
        )}
      </Show>
      <Show when={props.called.result}>
        {(result) => <ResultView label="Result" result={result()} view={result().view ?? null} summary={summary()} />}
      </Show>
    </section>
  );
}

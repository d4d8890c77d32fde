import { For, Match, Show, Switch } from 'solid-js';
import { Badge } from '#ui/src/components/badge.tsx';
import { CodeBlock } from '#ui/src/components/show/code-block.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { type Exchange, refusalTitle } from '#ui/src/features/run/mcp-client.ts';
import { ResultView } from '#ui/src/features/run/result-view.tsx';
import { KeepTest } from '#ui/src/features/tests/keep-test.tsx';
import { toTest } from '#ui/src/features/tests/to-test.ts';
import { parseJson } from '#ui/src/kernel/json.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { bytes, duration, plural } from '#ui/src/kernel/words.ts';
import { type Run, toneOf } from './state.ts';

/** What came back: as rows, as JSON, as the model gets it, and the messages themselves. */
export function ResultPanel(props: { run: Run }) {
  const { call } = useKernel();
  const result = () => props.run.result;
  return (
    <Panel
      title="Result"
      actions={
        <div class="row" role="status">
          <Switch>
            <Match when={props.run.refusal}>
              {(refusal) => <Badge tone={toneOf(props.run)}>{refusalTitle(refusal())}</Badge>}
            </Match>
            <Match when={result()?.is_error}>
              <Badge tone="warning">The tool answered with an error</Badge>
            </Match>
            <Match when={result()?.table}>{(table) => <Badge tone="good">{plural(table().rows.length, 'row')}</Badge>}</Match>
          </Switch>
          <span class="small faint num">{`in ${duration(props.run.ms)}`}</span>
          <Show when={props.run.refusal === undefined}>
            <KeepTest about={() => toTest(call, props.run)} />
          </Show>
        </div>
      }
    >
      <Show when={props.run.refusal}>
        {(refusal) => (
          <Notice tone={toneOf(props.run)} title={refusalTitle(refusal())}>
            <p>
              {refusal().detail}
              <Show when={refusal().code}>{(code) => <span class="mono faint"> {code()}</span>}</Show>
            </p>
          </Notice>
        )}
      </Show>
      <Show when={result()?.truncated}>
        <Notice tone="warning">
          {`Showing the first ${plural(result()?.table?.rows.length ?? 0, 'row')}. A row or size limit cut the rest off.`}
        </Notice>
      </Show>
      <Show when={result()?.file}>
        {(file) => (
          <p>
            <a href={file().url} download={file().name} rel="noreferrer">
              {`Download all rows (${file().name})`}
            </a>
          </p>
        )}
      </Show>
      <ResultView
        label="Result"
        result={result()}
        view={props.run.offer.noun === 'tool' ? (result()?.view ?? null) : undefined}
        also={[
          {
            value: 'messages',
            label: `Messages (${props.run.exchanges.length})`,
            panel: () => <Messages exchanges={props.run.exchanges} />,
          },
        ]}
      />
    </Panel>
  );
}

function Messages(props: { exchanges: readonly Exchange[] }) {
  return (
    <ol class="stack play-messages" data-gap="2">
      <For each={props.exchanges}>
        {(exchange, index) => (
          <li>
            <details open={index() === props.exchanges.length - 1}>
              <summary>
                <span class="mono">{exchange.method}</span>
                <span class="small faint num">
                  {exchange.answer === undefined
                    ? 'No response'
                    : `${exchange.answer.status}, ${duration(exchange.ms)}, ${bytes(exchange.answer.bytes)}`}
                </span>
              </summary>
              <div class="play-exchange">
                <h4>Request</h4>
                <CodeBlock
                  code={wire(`${exchange.request.verb} /mcp`, exchange.request.headers, exchange.request.body)}
                  label="Request"
                  wrap
                  max_height="24rem"
                />
                <Show when={exchange.answer}>
                  {(answer) => (
                    <>
                      <h4>Response</h4>
                      <CodeBlock
                        code={wire(`HTTP ${answer().status}`, answer().headers, answer().body)}
                        label="Response"
                        wrap
                        max_height="24rem"
                      />
                    </>
                  )}
                </Show>
              </div>
            </details>
          </li>
        )}
      </For>
    </ol>
  );
}

/** A longer body stays as it was sent: it would be written out anew for its beginning. */
const INDENTED = 500_000;

/** A message as it is written: a first line, headers, the body, which is indented when it is JSON. */
function wire(first: string, headers: Readonly<Record<string, string>>, body: string): string {
  const lines = [first, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)].join('\n');
  if (body === '') return lines;
  return `${lines}\n\n${body.length > INDENTED ? body : indented(body)}`;
}

function indented(body: string): string {
  const value = parseJson(body);
  return value === undefined ? body : JSON.stringify(value, null, 2);
}

import { createSignal, For, Match, Show, Switch } from 'solid-js';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { CodeBlock } from '#ui/src/components/show/code-block.tsx';
import { type Column, DataTable } from '#ui/src/components/table/data-table.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { JsonView } from '#ui/src/components/show/json-view.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { Tabs } from '#ui/src/components/tabs.tsx';
import type { Exchange } from '#ui/src/features/run/mcp-client.ts';
import type { Members } from '#ui/src/features/run/members.ts';
import { KeepTest } from '#ui/src/features/tests/keep-test.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { toTest } from './to-test.ts';
import { cellText } from '#core/lib/csv.ts';
import type { Part, Result, Table } from '#ui/src/features/run/result.ts';
import type { Run } from './state.ts';
import { bytes, count, duration, plural } from '#ui/src/kernel/words.ts';
import { saveFile } from '#ui/src/kernel/save-file.ts';
import { WORDS } from './words.ts';

type View = 'table' | 'json' | 'model' | 'messages';

/** What came back: as rows, as JSON, as the model gets it, and the messages themselves. */
export function ResultPanel(props: { run: Run }) {
  const { call } = useKernel();
  const result = () => props.run.result;
  // The run does not change while this panel is there.
  // oxlint-disable-next-line solid/reactivity
  const [view, setView] = createSignal<View>(firstView(props.run.result));
  return (
    <Panel
      title={WORDS.result}
      actions={
        <div class="row" role="status">
          <Switch>
            <Match when={props.run.refusal}>
              <Badge tone="bad">{WORDS.refused}</Badge>
            </Match>
            <Match when={result()?.is_error}>
              <Badge tone="brass">The tool answered with an error</Badge>
            </Match>
            <Match when={result()?.table}>{(table) => <Badge tone="good">{plural(table().rows.length, 'row')}</Badge>}</Match>
          </Switch>
          <span class="small faint num">{`in ${duration(props.run.ms)}`}</span>
          <Show when={props.run.refusal === undefined}>
            <KeepTest about={() => toTest(call, props.run)} />
          </Show>
          <Show when={result()}>
            {(found) => (
              <span class="small faint num" title="Estimated for current models; images and sound are not counted.">
                {WORDS.size(bytes(found().bytes), count(found().tokens))}
              </span>
            )}
          </Show>
        </div>
      }
    >
      <div class="panel-body">
        <Tabs
          label={WORDS.result}
          value={view()}
          onChange={setView}
          tabs={[
            { value: 'table', label: 'Table', panel: () => <TableView table={result()?.table} /> },
            { value: 'json', label: WORDS.json, panel: () => <JsonPart result={result()} /> },
            { value: 'model', label: WORDS.as_model, panel: () => <ModelView run={props.run} /> },
            {
              value: 'messages',
              label: 'Messages',
              count: props.run.exchanges.length,
              panel: () => <Messages exchanges={props.run.exchanges} />,
            },
          ]}
        />
      </div>
    </Panel>
  );
}

function firstView(result: Result | undefined): View {
  if (result === undefined || result.is_error) return 'model';
  return result.table === undefined ? 'model' : 'table';
}

function TableView(props: { table: Table | undefined }) {
  const columns = (): Column<readonly [number, Members]>[] =>
    (props.table?.columns ?? []).map((name) => ({
      id: name,
      head: name,
      sort: ([, row]) => {
        const value = row[name];
        return typeof value === 'number' || typeof value === 'string' ? value : cellText(value);
      },
      cell: ([, row]) => (
        <Show when={row[name] !== null && row[name] !== undefined} fallback={<span class="faint">null</span>}>
          <span class="play-cell">{cellText(row[name])}</span>
        </Show>
      ),
      ...(props.table?.rows.every((row) => typeof row[name] === 'number' || row[name] === null) ? { align: 'end' as const } : {}),
    }));
  return (
    <Show when={props.table} fallback={<p class="soft">This result has no rows.</p>}>
      {(table) => (
        <div class="play-table">
          <DataTable
            label={WORDS.result}
            rows={table().rows.map((row, index) => [index, row] as const)}
            columns={columns()}
            key={([index]) => String(index)}
            height="28rem"
            empty={<EmptyState title="No rows." />}
          />
        </div>
      )}
    </Show>
  );
}

function JsonPart(props: { result: Result | undefined }) {
  return (
    <Show when={props.result?.json !== undefined} fallback={<p class="soft">This result is not JSON.</p>}>
      <JsonView value={props.result?.json} label={WORDS.result} open={3} />
    </Show>
  );
}

function ModelView(props: { run: Run }) {
  return (
    <div class="stack">
      <Show when={props.run.refusal}>
        {(refusal) => (
          <Notice tone="bad" title={WORDS.refused}>
            <p>
              {refusal().detail}
              <Show when={refusal().code}>{(code) => <span class="mono faint"> {code()}</span>}</Show>
            </p>
          </Notice>
        )}
      </Show>
      <Show when={props.run.result?.is_error}>
        <Notice tone="brass">A model reads this text and may try again with other arguments.</Notice>
      </Show>
      <For each={props.run.result?.parts}>{(part) => <PartView part={part} />}</For>
    </div>
  );
}

function PartView(props: { part: Part }) {
  const size = () => Math.floor((props.part.data.length * 3) / 4);
  const save = () =>
    saveFile(
      'result',
      props.part.mime_type,
      Uint8Array.from(atob(props.part.data), (character) => character.codePointAt(0) ?? 0),
    );
  return (
    <div class="play-part">
      <Show when={props.part.from}>
        {(from) => (
          <p class="small faint mono">
            {from()} · {props.part.mime_type}
          </p>
        )}
      </Show>
      <Switch>
        <Match when={props.part.kind === 'text'}>
          <CodeBlock code={props.part.data} label={WORDS.as_model} wrap max_height="32rem" />
        </Match>
        <Match when={props.part.kind === 'image'}>
          <img class="play-image" src={`data:${props.part.mime_type};base64,${props.part.data}`} alt={WORDS.result} />
        </Match>
        <Match when={true}>
          <p class="small soft">{`${props.part.mime_type}, ${bytes(size())}`}</p>
          <Show when={props.part.kind === 'audio'}>
            <p class="small soft">Audio cannot be played here. Save the file to listen to it.</p>
          </Show>
        </Match>
      </Switch>
      <Show when={props.part.kind !== 'text'}>
        <Button size="small" icon="download" onPress={save}>
          Save file
        </Button>
      </Show>
    </div>
  );
}

function Messages(props: { exchanges: readonly Exchange[] }) {
  return (
    <ol class="play-messages">
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
                <h4>{WORDS.request}</h4>
                <CodeBlock
                  code={wire(`${exchange.request.verb} /mcp`, exchange.request.headers, exchange.request.body)}
                  label={WORDS.request}
                  wrap
                  max_height="24rem"
                />
                <Show when={exchange.answer}>
                  {(answer) => (
                    <>
                      <h4>{WORDS.answer}</h4>
                      <CodeBlock
                        code={wire(`HTTP ${answer().status}`, answer().headers, answer().body)}
                        label={WORDS.answer}
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

/** A message as it is written: a first line, headers, the body, which is indented when it is JSON. */
function wire(first: string, headers: Readonly<Record<string, string>>, body: string): string {
  const lines = [first, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)].join('\n');
  return body === '' ? lines : `${lines}\n\n${indented(body)}`;
}

function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

import { createMemo, For, Match, Show, Switch } from 'solid-js';
import type { GuardFinding } from '#core/contract/guard.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { CodeBlock } from '#ui/src/components/show/code-block.tsx';
import { JsonView } from '#ui/src/components/show/json-view.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { estimateTokens } from '#core/lib/tokens.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { snippetsOf } from './snippets.ts';
import { wayOut } from './way-out.tsx';
import type { DefinitionDraft } from './definition-draft.ts';

/** The entry of the list that every conversation begins with, as a model reads it. */
export function ModelView(props: { draft: DefinitionDraft }) {
  const check = () => props.draft.check;
  const listing = () => check().data()?.listing ?? {};
  const text = (name: string) => (typeof listing()[name] === 'string' ? String(listing()[name]) : '');
  return (
    <div class="stack model-view" data-gap="3" aria-busy={check().pending()}>
      <Switch fallback={<p class="soft small">Choose a connection and write SQL to see what the model sees.</p>}>
        <Match when={check().problem()}>
          {(problem) => (
            <Notice tone="bad" action={wayOut(props.draft, problem())}>
              <p>{problem().detail}</p>
            </Notice>
          )}
        </Match>
        <Match when={check().data()}>
          {(checked) => (
            <>
              <div class="model-head">
                <code class="model-name">{text('name') || 'unnamed'}</code>
                <Show when={text('title')}>
                  <span class="soft">{text('title')}</span>
                </Show>
              </div>
              <p class="model-description">{text('description') || <em class="faint">No description yet.</em>}</p>
              <Show when={text('uri') || text('uriTemplate')}>
                {(uri) => (
                  <p>
                    <code>{uri()}</code>
                  </p>
                )}
              </Show>
              <Annotations value={listing()['annotations']} />
              <Findings findings={checked().findings} />
              <For each={checked().warnings}>{(warning) => <Notice tone="warning">{warning}</Notice>}</For>
              <Show when={listing()['inputSchema']}>
                {(schema) => (
                  <section class="stack" data-gap="2">
                    <h3>Input schema</h3>
                    <JsonView label="Input schema" value={schema()} open={3} />
                  </section>
                )}
              </Show>
              <Show when={listing()['inputSchema']}>
                <section class="stack" data-gap="2">
                  <h3>Output schema</h3>
                  <Show
                    when={listing()['outputSchema']}
                    fallback={<p class="soft small">None. The result is text, or a template shapes it.</p>}
                  >
                    {(schema) => <JsonView label="Output schema" value={schema()} open={1} />}
                  </Show>
                </section>
              </Show>
              <Show when={listing()['arguments']}>
                {(list) => (
                  <section class="stack" data-gap="2">
                    <h3>Arguments</h3>
                    <JsonView label="Arguments" value={list()} open={2} />
                  </section>
                )}
              </Show>
              <p class="small faint num">{`Adds about ${plural(estimateTokens(JSON.stringify(listing())), 'token')} to every conversation.`}</p>
            </>
          )}
        </Match>
      </Switch>
    </div>
  );
}

const wordsOf = (words: readonly string[]): string => (words.length === 0 ? '' : ` (${words.join(', ')})`);

/** Findings that block saving, and those to review. */
function Findings(props: { findings: readonly GuardFinding[] }) {
  return (
    <Show when={props.findings.length > 0}>
      <Notice tone={props.findings.some(({ blocked }) => blocked) ? 'bad' : 'warning'} title="Prompt guard findings">
        <ul>
          <For each={props.findings}>
            {({ field, rule, blocked, words }) => (
              <li>{`${field}: ${rule}${wordsOf(words)}. ${blocked ? 'Reword it before you save.' : 'Allowed, but review it.'}`}</li>
            )}
          </For>
        </ul>
      </Notice>
    </Show>
  );
}

const HINTS = [
  ['readOnlyHint', 'Reads only', 'Changes data'],
  ['destructiveHint', 'Destructive', ''],
  ['idempotentHint', 'Idempotent', ''],
  ['openWorldHint', 'Open world', ''],
] as const;

function Annotations(props: { value: unknown }) {
  const value = () =>
    typeof props.value === 'object' && props.value !== null ? (props.value as Record<string, unknown>) : undefined;
  return (
    <Show when={value()}>
      {(hints) => (
        <div class="row" role="group" aria-label="Hints">
          <For each={HINTS}>
            {([name, yes, no]) => (
              <Show when={hints()[name] === true ? yes : no}>
                {(word) => (
                  <Badge
                    tone={
                      name === 'readOnlyHint'
                        ? hints()[name] === true
                          ? 'good'
                          : 'warning'
                        : name === 'destructiveHint'
                          ? 'bad'
                          : 'plain'
                    }
                  >
                    {word()}
                  </Badge>
                )}
              </Show>
            )}
          </For>
        </div>
      )}
    </Show>
  );
}

/** The same change as a script. */
export function ScriptView(props: { draft: DefinitionDraft }) {
  const snippets = createMemo(() => {
    const { name, body } = props.draft.request();
    return snippetsOf(name, window.location.origin, body);
  });
  return (
    <div class="stack" data-gap="2">
      <p class="soft small">The same change over REST. Set SLUICE_TOKEN to an agent token with the write scope.</p>
      <h3>curl</h3>
      <CodeBlock label="curl command" code={snippets().curl} max_height="20rem" />
      <h3>TypeScript</h3>
      <CodeBlock label="TypeScript" code={snippets().typescript} max_height="20rem" />
    </div>
  );
}

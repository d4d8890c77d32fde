import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { createSignal, For, Show } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import { Button } from '#ui/src/components/button.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Link } from '#ui/src/components/link.tsx';
import { Failed, Notice } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';

type Answer = Output<'insights.find'>;

/** Ranks the tools for a sentence that a person would say to a model. */
export function FindPanel() {
  const { call } = useKernel();
  const [question, setQuestion] = createSignal('');
  const [answer, setAnswer] = createSignal<Answer>();
  const finding = createMutation((text: string) => call('insights.find', { question: text }));
  const ask = async () => {
    if (question().trim() !== '' && !finding.busy()) setAnswer(await finding.run(question().trim()));
  };
  const best = () => answer()?.items[0]?.score ?? 1;
  return (
    <Panel
      title="Which tool would a model choose?"
      lead="Ranks the tools of the working copy by the words of their names, texts and parameters. No model is called."
    >
      <form
        class="find-form"
        onSubmit={(event) => {
          event.preventDefault();
          void ask();
        }}
      >
        <TextField
          label="What a person would ask"
          placeholder="Which orders of this customer are still open?"
          value={question()}
          onInput={setQuestion}
        />
        <Button type="submit" icon="search" busy={finding.busy()} blocked={question().trim() === ''}>
          Rank tools
        </Button>
      </form>
      <Failed of={{ problem: finding.problem, reload: ask }} />
      <Show when={answer()}>
        {(found) => (
          <div class="stack" role="status">
            <For each={found().overlaps}>
              {({ tools, message }) => (
                <Notice tone="warning" title={`${tools.map(({ name }) => name).join(' and ')} overlap`}>
                  {message}
                </Notice>
              )}
            </For>
            <Show
              when={found().items.length > 0}
              fallback={<p class="soft">No tool has any of these words. Use words of your data in names and descriptions.</p>}
            >
              <ol class="stack ranked" data-gap="1">
                <For each={found().items}>
                  {(tool) => (
                    <li>
                      <Link href={`/tools/${tool.id}`} class="mono long-name">
                        <Breakable text={tool.name} />
                      </Link>
                      <span class="ranked-bar" aria-hidden="true">
                        <span style={{ width: `${(tool.score / best()) * 100}%` }} />
                      </span>
                      <span class="small soft">{tool.matched.join(', ')}</span>
                    </li>
                  )}
                </For>
              </ol>
            </Show>
          </div>
        )}
      </Show>
    </Panel>
  );
}

import { createSignal, Match, Show, Switch } from 'solid-js';
import type { Tool, ToolDraft } from '#core/contract/tools.ts';
import { useBuilderWorld } from '#ui/src/components/builder/use-builder-world.ts';
import { useEntityActions } from '#ui/src/components/builder/use-entity-actions.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Menu } from '#ui/src/components/menu.tsx';
import { Notice, ProblemNotice } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { useParams } from '#ui/src/components/route-context.ts';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { toToolDraft } from '#ui/src/kernel/builder-drafts.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { ToolBuilder } from './tool-builder.tsx';
import { TOOL_WORDS as WORDS } from './words.ts';

/** One stored tool. */
export function ToolPage() {
  const { id } = useParams();
  return <Show when={id} keyed>{(known) => <StoredTool id={known} />}</Show>;
}

function StoredTool(props: { id: string }) {
  const { call, router, toasts } = useKernel();
  const world = useBuilderWorld('tools');
  const query = useQuery((signal) => call('tools.get', { id: props.id }, signal));
  const [saved, setSaved] = createSignal<Tool>();
  const tool = () => saved() ?? query.data();
  /** Raised when the tool was changed by something else than the form. */
  const [edition, setEdition] = createSignal(0);
  const reload = async () => {
    setSaved(undefined);
    await query.reload();
    setEdition((before) => before + 1);
  };
  const actions = useEntityActions('tools', { list: '/tools', words: WORDS, onChange: reload });

  const duplicate = async (original: Tool) => {
    const copy = await actions.attempt(() => call('tools.duplicate', { id: original.id }));
    if (copy !== undefined) router.navigate(`/tools/${copy.id}`);
  };
  const note = () => {
    toasts.show(WORDS.saved, 'good', { action: { label: WORDS.deploy, run: () => router.navigate('/deploy') } });
  };

  return (
    <Page
      title={tool()?.name ?? WORDS.title}
      width="full"
      back={{ href: '/tools', label: WORDS.back }}
      badge={
        <Show when={tool()}>
          {(found) => (
            <>
              <Show when={!found().enabled}>
                <Badge>{WORDS.off}</Badge>
              </Show>
              <Show when={!found().read_only}>
                <Badge tone="brass">{WORDS.writes}</Badge>
              </Show>
            </>
          )}
        </Show>
      }
      actions={
        <Show when={tool()}>
          {(found) => (
            <>
              <LinkButton href={`/playground?tool=${encodeURIComponent(found().name)}`} icon="play">
                {WORDS.playground}
              </LinkButton>
              <Menu
                label="More about this tool"
                items={[
                  { label: WORDS.duplicate, icon: 'copy', onSelect: () => void duplicate(found()) },
                  { label: WORDS.history, icon: 'history', href: `/history?type=tool&id=${found().id}` },
                  {
                    label: found().enabled ? WORDS.disable : WORDS.enable,
                    icon: found().enabled ? 'pause' : 'play',
                    onSelect: () => void actions.toggle(found()),
                  },
                  'line',
                  { label: WORDS.remove, icon: 'trash', danger: true, onSelect: () => void actions.remove(found()) },
                ]}
              />
            </>
          )}
        </Show>
      }
    >
      <Switch fallback={<SkeletonList rows={6} label="Loading the tool" />}>
        <Match when={query.problem()?.code === 'not_found'}>
          <EmptyState icon="tool" title={WORDS.missing} action={<LinkButton href="/tools">{WORDS.to_list}</LinkButton>}>
            {WORDS.missing_lead}
          </EmptyState>
        </Match>
        <Match when={world.problem() ?? (tool() === undefined ? query.problem() : undefined)}>
          {(problem) => <ProblemNotice problem={problem()} onRetry={() => void Promise.all([world.reload(), query.reload()])} />}
        </Match>
        <Match when={world.connections() !== undefined && query.data() !== undefined ? { edition: edition() } : undefined} keyed>
          {(_) => (
            <>
              <Show when={(tool()?.warnings.length ?? 0) > 0 && saved() !== undefined}>
                <Notice tone="brass">{tool()?.warnings.join(' ')}</Notice>
              </Show>
              <ToolBuilder
                connections={world.connections() ?? []}
                tags={world.tags()}
                tool={tool()}
                initial={draftOf(tool())}
                onSaved={(after) => {
                  setSaved(after);
                  note();
                }}
              />
            </>
          )}
        </Match>
      </Switch>
    </Page>
  );
}

/** Only asked for once the tool is there. */
function draftOf(tool: Tool | undefined): ToolDraft {
  if (tool === undefined) throw new Error('The tool is not loaded yet');
  return toToolDraft(tool);
}

import { type Component, createSignal, onCleanup, Show } from 'solid-js';
import { Dynamic } from 'solid-js/web';
import type { ServerConfig } from '#core/contract/config.ts';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice, ProblemNotice } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { useParams } from '#ui/src/components/route-context.ts';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { Tabs } from '#ui/src/components/tabs.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { PARTS, type Part, pendingOf } from '#ui/src/kernel/settings-draft.ts';
import { AgentPart } from './agent-part.tsx';
import { AuthPart } from './auth-part.tsx';
import { GeneralPart } from './general-part.tsx';
import { GuardPart } from './guard-part.tsx';
import { TlsPart } from './tls-part.tsx';
import type { PartProps } from './use-settings.tsx';
import { VariablesPart } from './variables-part.tsx';
import { PART_WORDS, WORDS } from './words.ts';
import './settings.css';

const PANELS: Readonly<Record<Part, Component<PartProps>>> = {
  general: GeneralPart,
  auth: AuthPart,
  tls: TlsPart,
  variables: VariablesPart,
  guard: GuardPart,
  agent: AgentPart,
};
const pathOf = (part: Part): string => (part === 'general' ? '/settings' : `/settings/${part}`);

/** The configuration of the server, part by part; each part is a page of its own, so that nothing typed is lost between them. */
export function Settings() {
  const { call, commands, router } = useKernel();
  const params = useParams();
  const part = () => PARTS.find((name) => name === params['part']) ?? 'general';
  const config = useQuery((signal) => call('config.get', {}, signal));
  const diff = useQuery((signal) => call('deploy.diff', {}, signal));
  const [saved, setSaved] = createSignal<ServerConfig>();
  const now = () => saved() ?? config.data();
  const pending = () => pendingOf(diff.data()?.changes ?? []);
  const take = (stored: ServerConfig) => {
    setSaved(stored);
    void diff.reload();
  };
  onCleanup(
    commands.register(
      PARTS.map((name) => ({
        id: `settings-${name}`,
        title: `Settings: ${PART_WORDS[name]}`,
        group: 'Go to' as const,
        run: () => router.navigate(pathOf(name)),
      })),
    ),
  );

  return (
    <Page title={WORDS.title} lead={WORDS.lead}>
      <Show when={Object.keys(pending()).length}>
        {(count) => (
          <Notice
            tone="brass"
            title={WORDS.pending(count())}
            action={
              <LinkButton href="/deploy" size="small" icon="rocket">
                {WORDS.to_deploy}
              </LinkButton>
            }
          />
        )}
      </Show>
      <Show when={config.problem()}>
        {(problem) => <ProblemNotice problem={problem()} onRetry={() => void config.reload()} />}
      </Show>
      <Tabs
        label={WORDS.parts}
        value={part()}
        onChange={(name) => router.navigate(pathOf(name))}
        tabs={PARTS.map((value) => ({
          value,
          label: PART_WORDS[value],
          panel: () => (
            <Show when={now()} fallback={<SkeletonList rows={4} label="Reading the settings" />}>
              {(stored) => <Dynamic component={PANELS[value]} config={stored()} pending={pending()} onSaved={take} />}
            </Show>
          ),
        }))}
      />
    </Page>
  );
}

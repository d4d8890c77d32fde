import { type Component, Show } from 'solid-js';
import { Dynamic } from 'solid-js/web';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Failed, Notice } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { useParams } from '#ui/src/components/shell/route-context.ts';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { type Part, PART_NAMES, PARTS, pendingOf } from './settings-draft.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { AuditPart } from './audit-part.tsx';
import { AuthPart } from './auth-part.tsx';
import { ChecksPart } from './checks-part.tsx';
import { GuardPart } from './guard-part.tsx';
import { type PartProps, Setting, SettingsForm, SettingsSection, useSettings } from './settings-form.tsx';
import { RefusedClients } from './refused-clients.tsx';
import { SignInPart } from './sign-in-part.tsx';
import { TlsPart } from './tls-part.tsx';
import { VariablesPart } from './variables-part.tsx';
import { WebhooksPanel } from './webhooks/webhooks-panel.tsx';
import './settings.css';

const PANELS: Readonly<Record<Part, Component<PartProps>>> = {
  general: GeneralPart,
  auth: AuthPart,
  tls: TlsPart,
  variables: VariablesPart,
  guard: GuardPart,
  sign_in: SignInPart,
  checks: ChecksPart,
  audit: AuditPart,
};
/** Redirects of former addresses. */
const MOVED: Readonly<Record<string, string>> = {
  general: '/settings',
  lint: '/settings/checks',
  gates: '/settings/checks',
  logs: '/settings',
  agent: '/settings',
};

/** The server configuration. Each part is a separate page, so that leaving one asks about unsaved changes. */
export function Settings() {
  const { router } = useKernel();
  const params = useParams();
  const part = () => PART_NAMES.find((name) => name === params['part']) ?? 'general';
  const named = params['part'];
  const is_known = named === undefined || named === 'webhooks' || PART_NAMES.some((name) => name === named);
  const moved = MOVED[named ?? ''] ?? (is_known ? undefined : '/settings');
  if (moved !== undefined) router.navigate(moved, { replace: true });
  const config = useQuery((read) => read('config.get', {}));
  const diff = useQuery((read) => read('deploy.diff', {}));
  const pending = () => pendingOf(diff.data()?.changes ?? []);
  return (
    <Page title={params['part'] === 'webhooks' ? 'Notices' : part() === 'general' ? 'Settings' : PARTS[part()].title}>
      <Show when={Object.keys(pending()).length}>
        {(count) => (
          <Notice
            tone="warning"
            title={`${plural(count(), 'setting')} changed since the last deploy`}
            action={
              <LinkButton href="/deploy" size="small" icon="rocket">
                Review and deploy
              </LinkButton>
            }
          />
        )}
      </Show>
      <Failed of={config} />
      <Show when={params['part'] !== 'webhooks'} fallback={<WebhooksPanel />}>
        <Show when={config.data()} fallback={<SkeletonList rows={4} label="Loading settings" failed={config.problem()} />}>
          {(stored) => (
            <Dynamic
              component={PANELS[part()]}
              part={part()}
              config={stored()}
              pending={pending()}
              onSaved={() => void config.reload()}
            />
          )}
        </Show>
      </Show>
    </Page>
  );
}

function GeneralPart(props: PartProps) {
  const form = useSettings(props);
  return (
    <SettingsForm of={props} form={form}>
      <SettingsSection
        title="Identity"
        lead="What clients see when they connect."
        fields={['server_name', 'instructions', 'skill', 'openai_apps_challenge']}
      />
      <SettingsSection
        title="Network"
        lead="Where every host accepts clients. A new address is opened before the old one is closed."
        fields={['transport']}
      >
        <div class="host-port">
          <Setting name="host" />
          <Setting name="port" />
        </div>
      </SettingsSection>
      <SettingsSection title="Telemetry" lead="Logs and traces of the hosts." fields={['log_level', 'otel_enabled']} />
      <SettingsSection
        title="Arguments"
        lead="Arguments that Gemini CLI and n8n add to every call are always dropped."
        fields={['undeclared_arguments']}
      />
      <SettingsSection
        title="Protocol"
        lead="The oldest revision of MCP that clients may speak."
        fields={['min_protocol_version']}
      >
        <RefusedClients least={form.values.min_protocol_version} />
      </SettingsSection>
      <SettingsSection
        title="Files"
        lead="Tools can offer their whole result as a file, for callers of a toolset with files."
        fields={['files_expire_minutes', 'files_max_rows', 'files_max_bytes', 'files_slots']}
      />
      <SettingsSection
        title="Replay"
        lead="Runs recent calls on a candidate or an earlier version and compares the answers, before callers see them."
        fields={['replay_samples']}
      />
      <SettingsSection
        title="Logged arguments"
        lead="Tools can log the arguments of their calls, encrypted, for people with the role editor or higher."
        fields={['log_arguments_hours']}
      />
      <SettingsSection
        title="Agent endpoint"
        lead="The MCP tools at /agent-mcp with which agents administer this server."
        fields={['agent_enabled', 'agent_rate_limit']}
      >
        <div class="row">
          <LinkButton href="/agents" size="small" icon="bot">
            Agent tokens and activity
          </LinkButton>
        </div>
      </SettingsSection>
    </SettingsForm>
  );
}

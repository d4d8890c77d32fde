import { Switch } from '#ui/src/components/choice.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { NumberField } from '#ui/src/components/number-field.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { agentDraft } from '#ui/src/kernel/settings-draft.ts';
import { type PartProps, SettingsFoot, useSettings } from './use-settings.tsx';
import { AGENT } from './words.ts';

export function AgentPart(props: PartProps) {
  const form = useSettings(props, agentDraft);
  return (
    <form class="stack settings-form" novalidate onSubmit={(event) => void form.submit(event)}>
      <Section
        title={AGENT.title}
        lead={AGENT.lead}
        actions={
          <LinkButton href="/agents" size="small" icon="bot">
            {AGENT.access}
          </LinkButton>
        }
      >
        <Switch label={AGENT.enabled} hint={AGENT.enabled_hint} {...form.flag('agent_enabled')} />
        <NumberField label={AGENT.rate} hint={AGENT.rate_hint} min={1} max={1_000_000} {...form.number('agent_rate_limit')} />
      </Section>
      <SettingsFoot form={form} />
    </form>
  );
}

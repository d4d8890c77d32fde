import type { LogLevel } from '#core/contract/log-levels.ts';
import { NumberField } from '#ui/src/components/number-field.tsx';
import { TextField } from '#ui/src/components/field.tsx';
import { RadioCards, Switch } from '#ui/src/components/choice.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { Select } from '#ui/src/components/select.tsx';
import { generalDraft } from '#ui/src/kernel/settings-draft.ts';
import { hint, type PartProps, SettingsFoot, useSettings } from './use-settings.tsx';
import { GENERAL, LEVELS, TRANSPORTS } from './words.ts';

export function GeneralPart(props: PartProps) {
  const form = useSettings(props, generalDraft);
  return (
    <form class="stack settings-form" novalidate onSubmit={(event) => void form.submit(event)}>
      <Section title={GENERAL.identity} lead={GENERAL.identity_lead}>
        <TextField
          label={GENERAL.server_name}
          hint={hint(props.pending, 'server_name', GENERAL.server_name_hint)}
          required
          {...form.text('server_name')}
        />
      </Section>
      <Section title={GENERAL.listen} lead={GENERAL.listen_lead}>
        <RadioCards label={GENERAL.transport} options={TRANSPORTS} {...form.choice<'http' | 'sse' | 'stdio'>('transport')} />
        <p class="small">{hint(props.pending, 'transport')}</p>
        <div class="settings-host">
          <TextField
            label={GENERAL.host}
            hint={hint(props.pending, 'host', GENERAL.host_hint)}
            mono
            required
            {...form.text('host')}
          />
          <NumberField
            label={GENERAL.port}
            hint={hint(props.pending, 'port')}
            min={1}
            max={65_535}
            required
            {...form.number('port')}
          />
        </div>
      </Section>
      <Section title={GENERAL.observe} lead={GENERAL.observe_lead}>
        <Select
          label={GENERAL.log_level}
          hint={hint(props.pending, 'log_level')}
          options={LEVELS}
          {...form.choice<LogLevel>('log_level')}
        />
        <Switch
          label={GENERAL.otel}
          hint={hint(props.pending, 'otel_enabled', GENERAL.otel_hint)}
          {...form.flag('otel_enabled')}
        />
      </Section>
      <SettingsFoot form={form} />
    </form>
  );
}

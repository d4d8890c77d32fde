import { For } from 'solid-js';
import { DEPLOY_GATES, GATE_NAMES, type GateMode } from '#core/contract/settings/deploy-gates.ts';
import { Select } from '#ui/src/components/form/select.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { type PartProps, SettingsForm, SettingsSection, useSettings } from './settings-form.tsx';

const MODES: readonly { value: GateMode; label: string }[] = [
  { value: 'off', label: 'Off' },
  { value: 'warn', label: 'Warn' },
  { value: 'block', label: 'Block the deploy' },
];

/** What each check does with its findings. */
export function GatesPart(props: PartProps) {
  const form = useSettings(props);
  return (
    <SettingsForm of={props} form={form}>
      <Section
        title="Deploy gates"
        lead="Checks that run at every deploy, dry run and restored version. A blocked deploy can be allowed once, with a note."
      >
        <For each={GATE_NAMES}>
          {(name) => (
            <Select
              label={DEPLOY_GATES[name].label}
              hint={DEPLOY_GATES[name].help}
              options={MODES}
              value={form.values.deploy_gates[name]}
              onChange={(mode) => form.set('deploy_gates', { ...form.values.deploy_gates, [name]: mode })}
            />
          )}
        </For>
      </Section>
      <SettingsSection
        title="Drift"
        lead="Finds deployed definitions whose tables have changed. A database that is down does not count."
        fields={['drift_check_minutes']}
      />
    </SettingsForm>
  );
}

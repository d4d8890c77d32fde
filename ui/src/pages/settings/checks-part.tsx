import { For } from 'solid-js';
import { optionsOf } from '#ui/src/fields/kind.ts';
import { DEPLOY_GATES, GATE_CHOICES, GATE_NAMES } from '#core/contract/settings/deploy-gates.ts';
import { LINT_RULE_NAMES, LINT_RULES, type LintRule } from '#core/contract/settings/lint-rules.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Switch } from '#ui/src/components/form/choice.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { type PartProps, SettingsForm, SettingsSection, useSettings } from './settings-form.tsx';

const TONE = { error: 'bad', warning: 'warning', info: 'plain' } as const;
const MODES = optionsOf(GATE_CHOICES);

/** Checks of definitions, when they are saved and when they are deployed. */
export function ChecksPart(props: PartProps) {
  const form = useSettings(props);
  const enable = (rule: LintRule, enabled: boolean) => {
    const others = form.values.lint_off.filter((name) => name !== rule);
    form.set('lint_off', enabled ? others : [...others, rule]);
  };
  return (
    <SettingsForm of={props} form={form}>
      <Section
        title="Lint rules"
        lead="Lint rules look for what could mislead a model. Disabled rules report nothing to people or agents."
      >
        <div class="settings-rules" tabindex="0" role="group" aria-label="Lint rules">
          <ul>
            <For each={LINT_RULE_NAMES}>
              {(rule) => (
                <li>
                  <div class="settings-rule">
                    <span class="row">
                      <span class="small">{LINT_RULES[rule].label}</span>
                      <span class="mono small faint">{rule}</span>
                      <Badge tone={TONE[LINT_RULES[rule].severity]}>{LINT_RULES[rule].severity}</Badge>
                    </span>
                    <span class="small soft">{LINT_RULES[rule].help}</span>
                  </div>
                  <Switch
                    label="Enabled"
                    of={LINT_RULES[rule].label}
                    checked={!form.values.lint_off.includes(rule)}
                    onChange={(enabled) => enable(rule, enabled)}
                  />
                </li>
              )}
            </For>
          </ul>
        </div>
      </Section>
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
        lead="Finds deployed definitions whose tables have changed. Databases that are down are skipped."
        fields={['drift_check_minutes']}
      />
    </SettingsForm>
  );
}

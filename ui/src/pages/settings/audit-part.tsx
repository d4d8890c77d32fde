import { For, Show } from 'solid-js';
import { SYSLOG_FORMAT_CHOICES } from '#core/contract/settings/audit-settings.ts';
import { AUDIT_KIND_CHOICES, AUDIT_KINDS } from '#core/contract/settings/audit-kinds.ts';
import { Switch } from '#ui/src/components/form/choice.tsx';
import { TextArea, TextField } from '#ui/src/components/form/field.tsx';
import { NumberField } from '#ui/src/components/form/number-field.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { optionsOf } from '#ui/src/fields/kind.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { type PartProps, SettingsForm, SettingsSection, useSettings } from './settings-form.tsx';

const NEW_SYSLOG = { host: '', port: 6_514, tls: true, format: 'json', ca: null } as const;
const FORMATS = optionsOf(SYSLOG_FORMAT_CHOICES);
const SINKS = { syslog: 'Syslog', otlp: 'OTLP' } as const;

/** Retention of the audit log, and where it is sent. */
export function AuditPart(props: PartProps) {
  const form = useSettings(props);
  const syslog = () => form.values.audit_syslog;
  const sinks = useQuery((read) => read('audit.sinks', {}));
  return (
    <SettingsForm of={props} form={form}>
      <Section
        title="Retention"
        lead="The oldest entries are deleted, and a signed head says so. Entries between longer kept ones keep their hash."
      >
        <For each={AUDIT_KINDS}>
          {(kind) => (
            <NumberField
              label={AUDIT_KIND_CHOICES[kind].label}
              hint={AUDIT_KIND_CHOICES[kind].help}
              unit="days"
              min={1}
              max={3_650}
              value={form.values.audit_retention_days[kind]}
              onInput={(days) => form.set(`audit_retention_days.${kind}`, days)}
              error={form.error(`audit_retention_days.${kind}`)}
            />
          )}
        </For>
        <div class="row">
          <LinkButton href="/logs?view=audit" size="small" icon="list">
            View the audit log
          </LinkButton>
        </div>
      </Section>
      <Section
        title="Syslog"
        lead="A syslog server that others run receives each entry and each signed head (RFC 5424), so nobody here can rewrite them."
      >
        <Switch
          label="Send to syslog"
          checked={syslog() !== null}
          onChange={(on) => form.set('audit_syslog', on ? { ...NEW_SYSLOG } : null)}
        />
        <Show when={syslog()}>
          {(to) => (
            <>
              <TextField
                label="Host"
                required
                mono
                placeholder="logs.example.com"
                value={to().host}
                onInput={(host) => form.set('audit_syslog.host', host)}
                error={form.error('audit_syslog.host')}
              />
              <NumberField
                label="Port"
                value={to().port}
                min={1}
                max={65_535}
                onInput={(port) => form.set('audit_syslog.port', port)}
                error={form.error('audit_syslog.port')}
              />
              <Switch label="TLS" checked={to().tls} onChange={(tls) => form.set('audit_syslog.tls', tls)} />
              <Show when={to().tls}>
                <TextArea
                  label="Certificate authority"
                  optional
                  mono
                  rows={4}
                  hint="PEM of the authority that issued the server’s certificate. Leave empty for a public one."
                  value={to().ca ?? ''}
                  onInput={(ca) => form.set('audit_syslog.ca', ca === '' ? null : ca)}
                  error={form.error('audit_syslog.ca')}
                />
              </Show>
              <Select
                label="Format"
                options={FORMATS}
                value={to().format}
                onChange={(format) => form.set('audit_syslog.format', format)}
              />
            </>
          )}
        </Show>
      </Section>
      <SettingsSection title="OTLP" lead="Sends the log to the collector of the server’s environment." fields={['audit_otlp']} />
      <For each={sinks.data()?.items ?? []}>
        {({ name, seq, waiting, error }) => (
          <Notice tone={error === null ? 'good' : 'bad'} title={`${SINKS[name]}: sent up to entry ${seq}`}>
            <p>{error ?? (waiting === 0 ? 'Nothing is waiting.' : `${plural(waiting, 'entry', 'entries')} waiting.`)}</p>
          </Notice>
        )}
      </For>
    </SettingsForm>
  );
}

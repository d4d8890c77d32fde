import { createMemo, createSignal, For, Show } from 'solid-js';
import type { GuardFinding } from '#core/contract/guard.ts';
import { compileSearch } from '#core/lib/text/search.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { SegmentedControl, Switch } from '#ui/src/components/form/choice.tsx';
import { FilterBar } from '#ui/src/components/table/filter-bar.tsx';
import { Link } from '#ui/src/components/link.tsx';
import { Failed, Notice } from '#ui/src/components/notice.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { TextArea } from '#ui/src/components/form/field.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { Loaded } from '#ui/src/components/show/loaded.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { type PartProps, Setting, SettingsForm, SettingsSection, useSettings } from './settings-form.tsx';

type Kind = (typeof KINDS)[number]['value'];
const KINDS = [
  { value: 'text', label: 'Description' },
  { value: 'sql', label: 'SQL' },
  { value: 'template', label: 'Template' },
] as const;
/** Its findings are allowed text by text. */
const MODEL = 'model.injection';
const TONE = { low: 'plain', medium: 'warning', high: 'bad' } as const;

export function GuardPart(props: PartProps) {
  const form = useSettings(props);
  const rules = useQuery((read) => read('guard.rules', {}));
  const [search, setSearch] = createSignal('');
  const shown = createMemo(() => {
    const matches = compileSearch(search());
    return rules.data()?.items.filter(({ id, description }) => matches(id, description));
  });
  const allow = (entry: string, allowed: boolean) => {
    const rest = form.values.prompt_guard_allow.filter((one) => one !== entry);
    form.set('prompt_guard_allow', allowed ? [...rest, entry] : rest);
  };
  const others = createMemo(() => {
    const known = new Set(rules.data()?.items.map(({ id }) => id));
    return rules.data() === undefined ? [] : form.values.prompt_guard_allow.filter((entry) => !known.has(entry));
  });

  return (
    <div class="stack">
      <SettingsForm of={props} form={form}>
        <SettingsSection
          title="Prompt guard"
          lead="Looks for prompt injection in definitions and in what agents read."
          fields={['prompt_guard_enabled']}
        >
          <Setting name="prompt_guard_threshold" columns={3} />
        </SettingsSection>
        <Section title="Rules" lead="Disabled rules report nothing. The model is skipped for single texts only.">
          <FilterBar search={{ label: 'Search rules', value: search(), onInput: setSearch }} />
          <Loaded of={rules} rows={5} label="Loading rules">
            {() => (
              <div class="settings-rules" tabindex="0" role="group" aria-label="Rules">
                <ul>
                  <For each={shown()}>
                    {(rule) => (
                      <li>
                        <div class="settings-rule">
                          <span class="row">
                            <span class="mono small">{rule.id}</span>
                            <Badge tone={TONE[rule.severity]}>{rule.severity}</Badge>
                          </span>
                          <span class="small soft">{rule.description}</span>
                        </div>
                        <Show when={rule.id !== MODEL}>
                          <Switch
                            label="Enabled"
                            of={rule.id}
                            checked={!form.values.prompt_guard_allow.includes(rule.id)}
                            onChange={(enabled) => allow(rule.id, !enabled)}
                          />
                        </Show>
                      </li>
                    )}
                  </For>
                </ul>
              </div>
            )}
          </Loaded>
        </Section>
        <Show when={others().length > 0}>
          <Section title="Allowed texts" lead="Each is the key of one text that the model skips.">
            <div class="settings-rules" role="group" aria-label="Allowed texts">
              <ul>
                <For each={others()}>
                  {(entry) => (
                    <li>
                      <span class="mono small settings-rule">{entry}</span>
                      <Button size="small" label={`Remove ${entry}`} onPress={() => allow(entry, false)}>
                        Remove
                      </Button>
                    </li>
                  )}
                </For>
              </ul>
            </div>
          </Section>
        </Show>
      </SettingsForm>
      <TryText allow={(entry) => allow(entry, true)} />
      <Scan allow={(entry) => allow(entry, true)} />
    </div>
  );
}

interface Allows {
  readonly allow: (entry: string) => void;
}

function TryText(props: Allows) {
  const { call } = useKernel();
  const [text, setText] = createSignal('');
  const [kind, setKind] = createSignal<Kind>('text');
  const [result, setResult] = createSignal<{ blocked: boolean; findings: readonly GuardFinding[] }>();
  const test = createMutation((input: { text: string; kind: Kind }) => call('guard.test', input));
  const run = async (event: SubmitEvent) => {
    event.preventDefault();
    if (text().trim() === '') return;
    setResult(await test.run({ text: text(), kind: kind() }));
  };
  return (
    <Section title="Test a text" lead="Checks it as part of a definition. Nothing is stored.">
      <form class="stack" onSubmit={(event) => void run(event)}>
        <TextArea label="Text" rows={4} value={text()} onInput={setText} />
        <div class="row">
          <SegmentedControl label="Check as" value={kind()} onChange={setKind} options={KINDS} />
          <Button type="submit" icon="shield" busy={test.busy()} blocked={text().trim() === ''}>
            Test
          </Button>
        </div>
      </form>
      <Failed of={test} />
      <Show when={result()}>
        {(answer) => (
          <Notice
            tone={answer().blocked ? 'bad' : 'good'}
            live
            title={
              answer().blocked
                ? 'This text is rejected'
                : answer().findings.length === 0
                  ? 'No findings'
                  : `${plural(answer().findings.length, 'finding')}, none severe enough to reject it`
            }
          >
            <Findings findings={answer().findings} allow={props.allow} />
          </Notice>
        )}
      </Show>
    </Section>
  );
}

function Scan(props: Allows) {
  const { call } = useKernel();
  const scan = createMutation(() => call('guard.scan', {}));
  const [result, setResult] = createSignal<Awaited<ReturnType<typeof scan.run>>>();
  return (
    <Section title="Scan all definitions" lead="Checks everything that is stored with the saved settings.">
      <div class="row">
        <Button icon="search" busy={scan.busy()} onPress={() => void scan.run(undefined).then(setResult)}>
          Scan now
        </Button>
      </div>
      <Failed of={scan} />
      <Show when={result()}>
        {(answer) => (
          <Notice
            tone={answer().items.length === 0 ? 'good' : 'warning'}
            live
            title={`${plural(answer().scanned, 'definition')} scanned, findings in ${answer().items.length}`}
          >
            <ul class="settings-findings">
              <For each={answer().items}>
                {(item) => (
                  <li>
                    <Link href={item.entity_type === 'server_config' ? '/settings' : `/${item.entity_type}s/${item.id}`}>
                      <span class="mono">{item.name}</span>
                    </Link>{' '}
                    <span class="small faint">{item.entity_type}</span>
                    <Findings findings={item.findings} allow={props.allow} />
                  </li>
                )}
              </For>
            </ul>
          </Notice>
        )}
      </Show>
    </Section>
  );
}

function Findings(props: Allows & { readonly findings: readonly GuardFinding[] }) {
  return (
    <ul class="settings-findings">
      <For each={props.findings}>
        {(finding) => (
          <li class="row">
            <span class="mono small">{finding.rule}</span>
            <Badge tone={TONE[finding.severity]}>{finding.severity}</Badge>
            <span class="small faint">{finding.field}</span>
            <Show when={finding.words.length > 0}>
              <span class="small">{`Words: ${finding.words.join(', ')}`}</span>
              <Button size="small" kind="quiet" needs="config.update" onPress={() => props.allow(finding.allow)}>
                Allow this text
              </Button>
            </Show>
          </li>
        )}
      </For>
    </ul>
  );
}

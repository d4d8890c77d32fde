import { createMemo, createSignal, For, Show } from 'solid-js';
import type { GuardFinding } from '#core/contract/guard.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { RadioCards, SegmentedControl, Switch } from '#ui/src/components/choice.tsx';
import { FilterBar } from '#ui/src/components/filter-bar.tsx';
import { Link } from '#ui/src/components/link.tsx';
import { Notice, ProblemNotice } from '#ui/src/components/notice.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { TextArea } from '#ui/src/components/field.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createMutation } from '#ui/src/kernel/mutation.ts';
import { guardDraft } from '#ui/src/kernel/settings-draft.ts';
import { type PartProps, SettingsFoot, useSettings } from './use-settings.tsx';
import { GUARD } from './words.ts';

type Severity = GuardFinding['severity'];
type Kind = (typeof GUARD.kinds)[number]['value'];
const TONE = { low: 'plain', medium: 'brass', high: 'bad' } as const;

export function GuardPart(props: PartProps) {
  const { call } = useKernel();
  const form = useSettings(props, guardDraft);
  const rules = useQuery((signal) => call('guard.rules', {}, signal));
  const [wanted, setWanted] = createSignal('');
  const shown = createMemo(() => {
    const words = wanted().toLowerCase().split(/\s+/);
    return (rules.data()?.items ?? []).filter(({ id, description }) =>
      words.every((word) => `${id} ${description}`.toLowerCase().includes(word)),
    );
  });
  const allow = (id: string, allowed: boolean) => {
    const others = form.values.prompt_guard_allow.filter((rule) => rule !== id);
    form.set('prompt_guard_allow', allowed ? [...others, id] : others);
  };

  return (
    <div class="stack">
      <form class="stack settings-form" novalidate onSubmit={(event) => void form.submit(event)}>
        <Section title={GUARD.title} lead={GUARD.lead}>
          <Switch label={GUARD.enabled} {...form.flag('prompt_guard_enabled')} error={form.error('prompt_guard_enabled')} />
          <RadioCards
            label={GUARD.threshold}
            options={GUARD.thresholds}
            columns={3}
            {...form.choice<Severity>('prompt_guard_threshold')}
          />
        </Section>
        <Section title={GUARD.rules} lead={GUARD.rules_lead}>
          <FilterBar search={{ label: GUARD.rules_search, value: wanted(), onInput: setWanted }} />
          <Show when={rules.problem()}>
            {(problem) => <ProblemNotice problem={problem()} onRetry={() => void rules.reload()} />}
          </Show>
          <Show when={rules.data()} fallback={<SkeletonList rows={5} label="Reading the rules" />}>
            <div class="settings-rules" tabindex="0" role="group" aria-label={GUARD.rules}>
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
                      <Switch
                        label={GUARD.allowed}
                        checked={form.values.prompt_guard_allow.includes(rule.id)}
                        onChange={(allowed) => allow(rule.id, allowed)}
                      />
                    </li>
                  )}
                </For>
              </ul>
            </div>
          </Show>
        </Section>
        <SettingsFoot form={form} />
      </form>
      <TryText />
      <Scan />
    </div>
  );
}

function TryText() {
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
    <Section title={GUARD.try} lead={GUARD.try_lead}>
      <form class="stack" onSubmit={(event) => void run(event)}>
        <TextArea label={GUARD.text} rows={4} value={text()} onInput={setText} />
        <div class="row">
          <SegmentedControl label={GUARD.kind} value={kind()} onChange={setKind} options={GUARD.kinds} />
          <Button type="submit" icon="shield" busy={test.busy()} blocked={text().trim() === ''}>
            {GUARD.test}
          </Button>
        </div>
      </form>
      <Show when={test.problem()}>{(problem) => <ProblemNotice problem={problem()} />}</Show>
      <Show when={result()}>
        {(answer) => (
          <Notice
            tone={answer().blocked ? 'bad' : 'good'}
            live
            title={
              answer().blocked
                ? GUARD.refused
                : answer().findings.length === 0
                  ? GUARD.clean
                  : GUARD.found(answer().findings.length)
            }
          >
            <Findings findings={answer().findings} />
          </Notice>
        )}
      </Show>
    </Section>
  );
}

const placeOf = (entity_type: string, id: string): string =>
  entity_type === 'server_config' ? '/settings' : `/${entity_type}s/${id}`;

function Scan() {
  const { call } = useKernel();
  const scan = createMutation(() => call('guard.scan', {}));
  const [result, setResult] = createSignal<Awaited<ReturnType<typeof scan.run>>>();
  return (
    <Section title={GUARD.scan} lead={GUARD.scan_lead}>
      <div class="row">
        <Button icon="search" busy={scan.busy()} onPress={() => void scan.run(undefined).then(setResult)}>
          {GUARD.scan_action}
        </Button>
      </div>
      <Show when={scan.problem()}>{(problem) => <ProblemNotice problem={problem()} />}</Show>
      <Show when={result()}>
        {(answer) => (
          <Notice
            tone={answer().items.length === 0 ? 'good' : 'brass'}
            live
            title={GUARD.scanned(answer().scanned, answer().items.length)}
          >
            <ul class="settings-findings">
              <For each={answer().items}>
                {(item) => (
                  <li>
                    <Link href={placeOf(item.entity_type, item.id)}>
                      <span class="mono">{item.name}</span>
                    </Link>{' '}
                    <span class="small faint">{item.entity_type}</span>
                    <Findings findings={item.findings} />
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

function Findings(props: { findings: readonly GuardFinding[] }) {
  return (
    <ul class="settings-findings">
      <For each={props.findings}>
        {(finding) => (
          <li class="row">
            <span class="mono small">{finding.rule}</span>
            <Badge tone={TONE[finding.severity]}>{finding.severity}</Badge>
            <span class="small faint">{finding.field}</span>
          </li>
        )}
      </For>
    </ul>
  );
}

import { Show } from 'solid-js';
import { ROLE_CHOICES } from '#core/contract/identity/roles.ts';
import { ProblemNotice } from '#ui/src/components/notice.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { KeyValue } from '#ui/src/components/show/key-value.tsx';
import { Skeleton } from '#ui/src/components/skeleton.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { WORDS } from './words.ts';

/** What the person may do here, in words. */
export function About() {
  const me = useQuery((read) => read('auth.me', {}));
  return (
    <Section title={WORDS.about} lead={WORDS.about_lead}>
      <Show when={me.problem()}>{(problem) => <ProblemNotice problem={problem()} onRetry={() => void me.reload()} />}</Show>
      <Show when={me.data()} fallback={me.problem() === undefined && <Skeleton width="half" />}>
        {(account) => (
          <>
            <KeyValue
              items={[
                { label: WORDS.role, value: ROLE_CHOICES[account().role].label },
                { label: WORDS.groups, value: account().groups.join(', ') || WORDS.no_groups },
              ]}
            />
            <p class="small soft">{ROLE_CHOICES[account().role].help}</p>
          </>
        )}
      </Show>
    </Section>
  );
}

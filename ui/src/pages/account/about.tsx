import { Show } from 'solid-js';
import { ROLE_CHOICES } from '#core/contract/roles.ts';
import { Failed } from '#ui/src/components/notice.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { KeyValue } from '#ui/src/components/show/key-value.tsx';
import { Skeleton } from '#ui/src/components/skeleton.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';

/** What the person may do here, in words. */
export function About() {
  const me = useQuery((read) => read('auth.me', {}));
  return (
    <Section title="Role" lead="An administrator sets your role and groups.">
      <Failed of={me} />
      <Show when={me.data()} fallback={me.problem() === undefined && <Skeleton width="half" />}>
        {(account) => (
          <>
            <KeyValue
              items={[
                { label: 'Role', value: ROLE_CHOICES[account().role].label },
                { label: 'Groups', value: account().groups.join(', ') || 'None' },
              ]}
            />
            <p class="small soft">{ROLE_CHOICES[account().role].help}</p>
          </>
        )}
      </Show>
    </Section>
  );
}

import { type JSX, Match, Switch } from 'solid-js';
import type { Connection } from '#core/contract/definitions/connections.ts';
import { Failed } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useSaved } from '#ui/src/components/use-act.ts';
import { together } from '#ui/src/kernel/data/query.ts';
import { ENTITY_TYPE, type EntityNoun } from './bulk.ts';
import { capital } from '#ui/src/kernel/words.ts';
import { ENTITY_WORDS } from './entity-words.ts';
import type { Read } from '#ui/src/kernel/data/cache.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { firstEnabled, useBuilderContext } from './use-builder-context.ts';

/** The page of a new definition; `?from=id` starts with a copy. */
export function NewEntity<D>(props: {
  noun: EntityNoun;
  /** Reads a definition to copy, without its name and address. */
  copy: (read: Read, id: string) => Promise<D>;
  blank: (connection_id: string) => D;
  builder: (parts: {
    readonly initial: D;
    readonly connections: readonly Connection[];
    readonly tags: readonly string[];
    readonly onSaved: (entity: { readonly id: string }) => void;
  }) => JSX.Element;
}) {
  const { router } = useKernel();
  const notify = useSaved();
  // The noun of a page never changes.
  // oxlint-disable-next-line solid/reactivity
  const { noun } = props;
  const one = ENTITY_TYPE[noun];
  const context = useBuilderContext(noun);
  const from = router.query().get('from');
  const linked_connection = router.query().get('connection') ?? '';
  const original = useQuery(async (read) => ({ draft: from === null ? undefined : await props.copy(read, from) }));
  const saved = ({ id }: { readonly id: string }) => {
    router.navigate(`/${noun}/${id}`, { replace: true });
    notify(`${capital(one)} created. Deploy to make it live.`);
  };
  const initial = (): D => {
    return (
      original.data()?.draft ??
      props.blank(linked_connection === '' ? (firstEnabled(context.connections() ?? [])?.id ?? '') : linked_connection)
    );
  };

  return (
    <Page title={`New ${one}`} width="full" back={{ href: `/${noun}`, label: ENTITY_WORDS[noun].title }}>
      <Switch fallback={<SkeletonList rows={6} label="Loading" />}>
        <Match when={original.data() !== undefined && context.connections() !== undefined}>
          {(_) =>
            // A function called once: the builder stays when the connections reload.
            props.builder({
              initial: initial(),
              get connections() {
                return context.connections() ?? [];
              },
              get tags() {
                return context.tags();
              },
              onSaved: saved,
            })
          }
        </Match>
        <Match when={context.problem() ?? original.problem()}>
          <Failed of={together(context, original)} />
        </Match>
      </Switch>
    </Page>
  );
}

import { createMemo, createSignal, Match, Show, Switch } from 'solid-js';
import type { Connection } from '#core/contract/definitions/connections.ts';
import type { Tool, ToolDraft } from '#core/contract/definitions/tools.ts';
import { firstEnabled, useBuilderContext } from '#ui/src/features/builder/definitions/use-builder-context.ts';
import { SegmentedControl } from '#ui/src/components/form/choice.tsx';
import { Failed, Notice } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useSaved } from '#ui/src/components/use-act.ts';
import { together } from '#ui/src/kernel/data/query.ts';
import { blankTool, toolOfResource } from '#ui/src/features/builder/drafts.ts';
import { dialectOf } from '#ui/src/features/builder/sql/scan.ts';
import { findTable, type TableAddress } from '#ui/src/features/builder/sql/table-address.ts';
import type { TableSource } from '#ui/src/features/builder/sql/table-columns.ts';
import { findLabels } from '#ui/src/features/builder/sql/table-labels.ts';
import { offersOf } from '#ui/src/features/builder/sql/table-offers.ts';
import type { TableOffer } from '#ui/src/features/builder/sql/tables.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { ToolBuilder } from './tool-builder.tsx';

/** The draft begins with it: a later change of the table does not replace what was typed. */
const ONCE = { live: false };

/** A tool that is not stored yet; `?connection=…&schema=…&table=…` begins it from a table, `?resource=id` from a resource. */
export function NewTool() {
  const { router, session, call } = useKernel();
  const showSaved = useSaved();
  const context = useBuilderContext('tools');
  const connection_id = router.query().get('connection') ?? '';
  const table = router.query().get('table');
  const schema = router.query().get('schema');
  const from = router.query().get('resource');
  const resource = useQuery(async (read) => ({
    draft: from === null ? undefined : toolOfResource(await read('resources.get', { id: from })),
  }));
  const source = useQuery(async (read): Promise<FromTable | null> => {
    if (table === null || connection_id === '') return null;
    const address = { schema, name: table };
    const found = (await findTable(async (one) => {
      const within = one.schema === null ? {} : { schema: one.schema };
      return (await read('schema.tables', { connection_id, search: one.name, ...within })).items;
    }, address)) ?? { ...address, in_path: schema === null, comment: null };
    const columnsOf = async (of: TableAddress) => {
      const within = of.schema === null ? {} : { schema: of.schema };
      return (await read('schema.columns', { connection_id, table: of.name, ...within })).items;
    };
    const runs = (sql_query: string) =>
      call('preview.execute', { connection_id, sql_query, limit: 1 }).then(
        () => true,
        () => false,
      );
    const [columns, { db_type }] = await Promise.all([columnsOf(found), read('connections.get', { id: connection_id })]);
    // Redshift does not enforce its keys, so a join could repeat rows.
    const source = { table: found, columns, dialect: dialectOf(db_type) };
    const labels = db_type === 'redshift' ? [] : await findLabels(source, columnsOf, runs);
    const offers = await offersOf({ ...source, labels }, async (draft) =>
      session.may('preview.tool') ? call('preview.tool', { connection_id, ...draft }) : {},
    );
    return { table: found, offers };
  }, ONCE);
  const saved = (tool: Tool) => {
    router.navigate(`/tools/${tool.id}`, { replace: true });
    showSaved('Tool created. Deploy to make it live.');
  };
  const settled = () => resource.data() !== undefined && (source.data() !== undefined || source.problem() !== undefined);

  return (
    <Page title="New tool" width="full" back={{ href: '/tools', label: 'Tools' }}>
      <Switch fallback={<SkeletonList rows={6} label="Loading the connections" />}>
        <Match when={settled() ? context.connections() : undefined}>
          {(connections) => (
            <>
              <Show when={source.problem()}>
                <Notice tone="warning">
                  This table could not be read. Check the connection, or write the statement by hand.
                </Notice>
              </Show>
              <Draft
                connections={connections()}
                tags={context.tags()}
                connection_id={resource.data()?.draft?.connection_id ?? connection_id}
                draft={resource.data()?.draft}
                source={source.problem() === undefined ? (source.data() ?? null) : null}
                onSaved={saved}
              />
            </>
          )}
        </Match>
        <Match when={context.problem() ?? resource.problem()}>
          <Failed of={together(context, resource)} />
        </Match>
      </Switch>
    </Page>
  );
}

interface DraftProps {
  connections: readonly Connection[];
  tags: readonly string[];
  connection_id: string;
  draft: ToolDraft | undefined;
  source: FromTable | null;
  onSaved: (tool: Tool) => void;
}

function Draft(props: DraftProps) {
  const { router, dialogs } = useKernel();
  const offers = createMemo(() => props.source?.offers ?? []);
  const [recipe, setRecipe] = createSignal(offers()[0]?.recipe ?? 'list');
  const connection = () => props.connections.find(({ id }) => id === props.connection_id) ?? firstEnabled(props.connections);
  const initial = (): ToolDraft => {
    const blank = props.draft ?? blankTool(connection()?.id ?? '');
    return { ...blank, ...offers().find((offer) => offer.recipe === recipe())?.draft };
  };
  const choose = async (next: string) => {
    const text = router.blocked();
    const agreed =
      text === undefined ||
      (await dialogs.confirm({
        title: 'Start over from the table?',
        text,
        action: 'Start over',
        cancel: 'Keep my changes',
        danger: true,
      }));
    if (agreed) setRecipe(next);
  };
  return (
    <Show when={{ recipe: recipe() }} keyed>
      {(_) => (
        <ToolBuilder
          connections={props.connections}
          tags={props.tags}
          initial={initial()}
          onSaved={(tool) => props.onSaved(tool)}
          before={
            <Show when={offers().length > 0 && props.source?.table}>
              {(table) => (
                <div class="row recipe">
                  <span class="small soft">{`From table ${nameOf(table())}`}</span>
                  <SegmentedControl
                    label="What the tool does"
                    value={recipe()}
                    onChange={(next) => void choose(next)}
                    options={offers().map(({ recipe: value, label }) => ({ value, label }))}
                  />
                </div>
              )}
            </Show>
          }
        />
      )}
    </Show>
  );
}

interface FromTable {
  readonly table: TableSource['table'];
  /** Empty: its database takes none of the statements. */
  readonly offers: readonly TableOffer[];
}

const nameOf = ({ schema, name, in_path }: TableSource['table']): string =>
  in_path || schema === null ? name : `${schema}.${name}`;

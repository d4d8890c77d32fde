import type { DeployApp } from '#core/deploy/app.ts';
import type { HistoryApp } from '#core/history/restorables.ts';
import { asc } from 'drizzle-orm';
import { byPlural, ENTITIES, FROZEN_KINDS, type FrozenKind, OWNED_KINDS, type Plural } from '#core/contract/entities.ts';
import { FlowLayout } from '#core/contract/flow.ts';
import { entityTable } from '#core/store/entity-table.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import { holdsOf } from '#snapshots/format/toolsets.ts';
import { readSettings } from '#core/settings/settings.ts';
import { deployHandlers } from '#core/deploy/deploy-handlers.ts';

/** The app that the agent tools need. */
export type AgentToolsApp = DeployApp & HistoryApp;

export const flowHandlers: Pick<Handlers<AgentToolsApp>, 'flow.layout' | 'flow.toolsets'> = {
  'flow.layout': async (context) => {
    const [read, state, { settings }] = await Promise.all([
      readEntities(context),
      deployHandlers['deploy.status'](context, {}),
      readSettings(context.app),
    ]);
    const owned = OWNED_KINDS.flatMap((kind): Entities['prompts'] => read[ENTITIES[kind].plural]);
    const { status, snapshot_version, pending_changes } = state;
    return {
      ...read,
      edges: [
        ...owned.flatMap(({ id, connection_id }) =>
          connection_id === null ? [] : [{ from: connection_id, to: id, kind: 'owns' as const }],
        ),
        ...owned.filter(({ enabled }) => enabled).map(({ id }) => ({ from: id, to: 'server', kind: 'serves' as const })),
      ],
      server: {
        server_name: settings.server_name,
        status,
        snapshot_version,
        transport: settings.transport,
        auth_type: settings.auth_type,
      },
      totals: byPlural(FROZEN_KINDS, (kind) => read[ENTITIES[kind].plural].length),
      pending_changes,
    };
  },
  'flow.toolsets': async (context) => {
    const { toolsets } = context.app.store.tables;
    const [read, rules] = await Promise.all([
      readEntities(context),
      context.app.store.db.select().from(toolsets).orderBy(asc(toolsets.name)),
    ]);
    const selectable = [
      ...read.tools.map((tool) => ({ kind: 'tool' as const, ...tool, reads: tool.read_only })),
      ...read.resources.map((resource) => ({ kind: 'resource' as const, ...resource, reads: true })),
      ...read.prompts.map((prompt) => ({ kind: 'prompt' as const, ...prompt, reads: true })),
    ];
    return {
      items: rules.map((rule) => {
        const { id, name, enabled } = rule;
        return { id, name, enabled, members: selectable.filter(holdsOf(rule)).map((one) => one.id) };
      }),
    };
  },
};

export type Entities = Pick<FlowLayout, Plural<FrozenKind>>;

/** One consistent view, without statements and templates: the columns that the contract shows. */
function readEntities({ app }: Context): Promise<Entities> {
  return app.store.read(async (tx) => {
    const read = byPlural(FROZEN_KINDS, (): unknown => []);
    for (const kind of FROZEN_KINDS) {
      const { plural } = ENTITIES[kind];
      const table = entityTable(app.store, kind);
      const columns = Object.keys(FlowLayout.entries[plural].item.entries) as (keyof typeof table.$inferSelect)[];
      read[plural] = await tx
        .select(Object.fromEntries(columns.map((column) => [column, table[column]])))
        .from(table)
        .orderBy(asc(table.name));
    }
    return read as Entities;
  });
}

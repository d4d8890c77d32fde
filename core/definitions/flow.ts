import { asc } from 'drizzle-orm';
import type { FlowLayout } from '#core/contract/flow.ts';
import type { Context, Handlers } from '#core/run.ts';
import { readSettings } from './settings/config.ts';
import { deployHandlers } from '#core/deploy/deploys.ts';

export const flowHandlers: Pick<Handlers, 'flow.layout'> = {
  'flow.layout': async (context) => {
    const [read, state, { settings }] = await Promise.all([
      readEntities(context),
      deployHandlers['deploy.status'](context, {}),
      readSettings(context.app),
    ]);
    const { connections, tools, resources, prompts } = read;
    const owned = [...tools, ...resources, ...prompts];
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
      totals: {
        connections: connections.length,
        tools: tools.length,
        resources: resources.length,
        prompts: prompts.length,
      },
      pending_changes,
    };
  },
};

type Entities = Pick<FlowLayout, 'connections' | 'tools' | 'resources' | 'prompts'>;

/** One consistent view, without statements and templates. */
function readEntities({ app }: Context): Promise<Entities> {
  const { connections, tools, resources, prompts } = app.store.tables;
  return app.store.read(async (tx) => ({
    connections: await tx
      .select({ id: connections.id, name: connections.name, enabled: connections.enabled, db_type: connections.db_type })
      .from(connections)
      .orderBy(asc(connections.name)),
    tools: (await tx
      .select({
        id: tools.id,
        name: tools.name,
        enabled: tools.enabled,
        connection_id: tools.connection_id,
        tags: tools.tags,
        read_only: tools.read_only,
      })
      .from(tools)
      .orderBy(asc(tools.name))) as Entities['tools'],
    resources: (await tx
      .select({
        id: resources.id,
        name: resources.name,
        enabled: resources.enabled,
        connection_id: resources.connection_id,
        tags: resources.tags,
        uri_template: resources.uri_template,
      })
      .from(resources)
      .orderBy(asc(resources.name))) as Entities['resources'],
    prompts: (await tx
      .select({
        id: prompts.id,
        name: prompts.name,
        enabled: prompts.enabled,
        connection_id: prompts.connection_id,
        tags: prompts.tags,
      })
      .from(prompts)
      .orderBy(asc(prompts.name))) as Entities['prompts'],
  }));
}

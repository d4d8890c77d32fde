import { eq, inArray } from 'drizzle-orm';
import * as v from 'valibot';
import { type Connection, ConnectionDraft, MASK, type TestResult } from '#core/contract/connections.ts';
import { writeAlone } from '#core/store/journal.ts';
import type { Db } from '#core/store/open.ts';
import { AppError, invalidField } from '#core/errors.ts';
import type { Context, Handlers } from '#core/run.ts';
import { createSlices } from '#core/lib/slices.ts';
import { CONNECTION_TYPES } from '#core/engines/index.ts';
import type { ConnectionSettings, Source } from '#core/engines/shared/source.ts';
import { mergeDraft, prepareConnection, requiredFields, wrongExtras } from './connection-draft.ts';
import { checkVersion, createNoun, overtaking } from './records.ts';
import { prompts, resources, tools } from './nouns.ts';
import { createShop, SHOP_FILE } from '#core/transfer/sample-shop.ts';
import { type ConnectionRow, isSealed } from './source-pool.ts';
import { answerWithin } from './statements.ts';

export const connections = createNoun('connections', 'connection');

const TEST_TIMEOUT_MS = 10_000;

export const connectionHandlers: Pick<Handlers, Extract<keyof Handlers, `connections.${string}`>> = {
  'connections.types': () => ({ items: [...CONNECTION_TYPES], total: CONNECTION_TYPES.length }),
  'connections.list': async (context, filter) => {
    const { items, total } = await connections.list(context, filter);
    return { items: items.map(toConnection), total };
  },
  'connections.get': async (context, { id }) => toConnection(await connections.get(context, id)),
  'connections.create': create,
  'connections.create_sample': (context) => {
    createShop(context.app.env.SVC_SQLITE_DIR);
    return create(context, v.parse(ConnectionDraft, { name: 'demo', db_type: 'sqlite', database: SHOP_FILE }));
  },
  'connections.update': (context, { id, version, ...patch }) =>
    overtaking(version, async () => {
      const before = await connections.get(context, id);
      checkVersion('connection', before, version);
      const values = await prepareConnection(context, id, mergeDraft(before, patch), before);
      const row = await context.app.store.write((tx) => connections.update(context, tx, id, version ?? before.version, values));
      return toConnection(row);
    }),
  'connections.delete': async (context, { id }) => {
    await context.app.store.write((tx) => removeConnection(context, tx, id));
    context.app.sources.drop(id);
    return {};
  },
  'connections.test': async (context, { id }) => {
    const row = await connections.get(context, id);
    const source = await context.app.sources.of(row).catch(toFailure);
    return 'success' in source ? source : testSource(source);
  },
  'connections.test_draft': async (context, draft) => {
    const refusal = [...requiredFields(draft), ...wrongExtras(draft, null)];
    if (refusal.length > 0) throw new AppError('invalid', refusal.map((error) => error.message).join(' '), { errors: refusal });
    const { name: _, enabled: _enabled, ...settings } = draft;
    const source = await context.app.sources.open(settings as ConnectionSettings).catch(toFailure);
    if ('success' in source) return source;
    const result = await testSource(source);
    await source.close().catch(() => undefined);
    return result;
  },
};

async function create(context: Context, draft: ConnectionDraft): Promise<Connection> {
  const id = context.app.ids();
  const values = await prepareConnection(context, id, draft, null);
  const row = await context.app.store.write((tx) => connections.insert(context, tx, values, id));
  return toConnection(row);
}

/** Deletes a connection and all that it owns in one transaction under one batch id. */
export async function removeConnection(context: Context, tx: Db, id: string): Promise<void> {
  // Whoever is about to store something of it waits, and then finds it gone.
  await writeAlone(context.app.store, tx);
  const batch_id = context.app.ids();
  const turn = createSlices();
  for (const noun of [tools, resources, prompts]) {
    for (const row of await noun.ownedBy(context, tx, id)) {
      await noun.remove(context, tx, row.id, batch_id);
      await turn();
    }
  }
  await connections.remove(context, tx, id, batch_id);
}

/** @returns a stored connection as a response shows it: no secret, masked entries. */
export function toConnection(row: ConnectionRow): Connection {
  const { password, ssl_key, ...rest } = row;
  return {
    ...rest,
    extra_params: Object.fromEntries(
      Object.entries(row.extra_params).map(([key, value]) => [key, isSealed(value) ? MASK : value]),
    ),
    password_set: password !== null,
    ssl_key_set: ssl_key !== null,
  };
}

async function testSource(source: Source): Promise<TestResult> {
  const started = performance.now();
  const latency = () => Math.round((performance.now() - started) * 10) / 10;
  try {
    const report = await answerWithin(source.test(), TEST_TIMEOUT_MS);
    return {
      success: true,
      message: 'Connected.',
      latency_ms: latency(),
      server_version: report.server_version,
      warnings: [...report.warnings],
    };
  } catch (error) {
    return { ...toFailure(error), latency_ms: latency() };
  }
}

const TEST_CODES: readonly (TestResult['code'] & string)[] = [
  'dns_failed',
  'refused',
  'timeout',
  'auth_failed',
  'database_missing',
  'tls_failed',
  'private_network_blocked',
];

function toFailure(error: unknown): TestResult {
  if (!(error instanceof AppError)) throw error;
  const code = TEST_CODES.find((known) => known === error.reason || known === error.code) ?? 'failed';
  return { success: false, message: error.detail, latency_ms: 0, code, warnings: [] };
}

/** Connections by id, for joining their names. */
export async function connectionNames({ app }: Context, ids: readonly string[]): Promise<Map<string, string>> {
  const { connections: table } = app.store.tables;
  const wanted = [...new Set(ids)];
  if (wanted.length === 0) return new Map();
  const rows = await app.store.db.select({ id: table.id, name: table.name }).from(table).where(inArray(table.id, wanted));
  return new Map(rows.map((row) => [row.id, row.name]));
}

/** The connection that a draft names, or a refusal at its field; asked again where it is written, it may be gone by then. */
export async function ownerOf(context: Context, connection_id: string, tx: Db = context.app.store.db): Promise<ConnectionRow> {
  const planned = context.change?.connections.get(connection_id);
  if (planned !== undefined) return planned;
  const { store } = context.app;
  if (tx !== store.db) await writeAlone(store, tx);
  const rows = await tx.select().from(store.tables.connections).where(eq(store.tables.connections.id, connection_id));
  if (rows[0] === undefined) throw invalidField('connection_id', 'connection_id does not match any connection.');
  return rows[0];
}

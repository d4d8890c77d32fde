import * as v from 'valibot';
import { type Connection, ConnectionDraft, type DbType, MASK, type TestResult } from '#core/contract/definitions/connections.ts';
import { OWNED_KINDS } from '#core/contract/entities.ts';
import { lockEntityWrites } from '#core/store/journal.ts';
import type { Db } from '#core/store/store.ts';
import { AppError, refuseFields, TUNNEL_CODES } from '#core/errors.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import { refuseReferences } from '#core/context/secret-refs.ts';
import { createSlices, pagesOf } from '#core/lib/slices.ts';
import { checkTarget, CONNECTION_TYPES, kindOfServer } from '#core/engines/index.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { Source } from '#core/engines/shared/source.ts';
import {
  certificateFaults,
  type Draft,
  prepareConnection,
  prepareEarlier,
  requiredFields,
  wrongExtras,
} from './connection-draft.ts';
import { plainSsh, showSsh, sshFaults, sshKeyFaults } from './ssh-draft.ts';
import { NO_PRIMARY } from '#core/engines/shared/hosts/host-choice.ts';
import { HostKeyFault } from '#core/engines/shared/tunnel/faults.ts';
import { createEntity } from './entity.ts';
import { ownedBy } from './owners.ts';
import { ROWS_PER_STATEMENT } from '#core/records/versioned.ts';
import { EntityStore } from './entity-store.ts';
import { refuseUnknownVariables } from './checks/variables.ts';
import { hostFaults } from './checks/hosts.ts';
import { sessionFaults } from './checks/session.ts';
import { createShop, SHOP_FILE } from '#core/sources/sample-shop.ts';
import type { ConnectionRow } from '#core/sources/source-pool.ts';
import { isReference, isSealed } from '#core/lib/sealed-values.ts';
import { withinTimeout } from '#core/sources/statements.ts';

export const connection = createEntity<'connection', Draft>('connection', {
  async prepare(context, id, draft, stored, original = null) {
    const values = await prepareConnection(context, id, draft, stored);
    await refuseUnknownVariables(context, draft, stored ?? original);
    return { values, compiled: null };
  },
  prepareEarlier: async (...what) => ({ values: await prepareEarlier(...what), compiled: null }),
  show: async (_, rows) => rows.map(toConnection),
  remove: removeConnection,
});

export const connectionHandlers: Pick<Handlers, Extract<keyof Handlers, `connections.${string}`>> = {
  ...connection.handlers,
  'connections.types': () => ({ items: [...CONNECTION_TYPES], total: CONNECTION_TYPES.length }),
  'connections.create_sample': (context) => {
    createShop(context.app.env.SVC_SQLITE_DIR);
    return connection.create(context, v.parse(ConnectionDraft, { name: 'demo', db_type: 'sqlite', database: SHOP_FILE }));
  },
  'connections.test': async (context, { id }) => {
    const row = await connection.noun.get(context, id);
    const source = await context.app.sources.of(row).catch(toFailure);
    return 'success' in source ? source : testSource(source, row.db_type, context.app.waits.connection_test_ms);
  },
  'connections.test_draft': async (context, draft) => {
    const refusal = [
      ...requiredFields(draft),
      ...wrongExtras(draft, null),
      ...hostFaults(draft),
      ...sessionFaults(draft),
      ...sshFaults(draft),
      ...certificateFaults(draft, null),
      ...(await sshKeyFaults(draft.ssh)),
    ];
    refuseFields(refusal);
    await refuseReferences(context, null, { password: draft.password, ssl_key: draft.ssl_key, ssh: draft.ssh });
    const { name: _, enabled: _enabled, ...settings } = draft;
    // Invalid fields are refused as on saving. A forbidden address is a result of the test.
    const blocked = await checkTarget(draft, context.app.policy).then(
      () => null,
      (error: unknown) => {
        if (error instanceof AppError && error.code === 'invalid') throw error;
        return toFailure(error);
      },
    );
    if (blocked !== null) return blocked;
    const source = await openDraft(context, settings).catch(toFailure);
    if ('success' in source) return source;
    const result = await testSource(source, draft.db_type, context.app.waits.connection_test_ms);
    await source.close().catch(() => undefined);
    return result;
  },
};

/** A source for a draft that is not stored, whose secrets are plain text or references. */
async function openDraft({ app }: Context, draft: Omit<ConnectionDraft, 'name' | 'enabled'>): Promise<Source> {
  const plain = async (secret: unknown): Promise<unknown> => (isReference(secret) ? app.secrets.resolve(secret.ref) : secret);
  const { ssh } = draft;
  const settings = {
    ...draft,
    password: await plain(draft.password),
    ssl_key: await plain(draft.ssl_key),
    ssh: ssh && (await plainSsh(ssh, plain)),
  };
  return app.sources.open(settings as ConnectionSettings);
}

/** Deletes a connection and its definitions in one transaction, as one batch. */
async function removeConnection(context: Context, tx: Db, id: string): Promise<void> {
  // A concurrent write of one of its definitions waits, and then fails because the connection is gone.
  await lockEntityWrites(context.app.store, tx);
  const batch_id = context.app.ids();
  const turn = createSlices();
  for (const kind of OWNED_KINDS) {
    const noun = new EntityStore(kind);
    const owned = (await ownedBy(context, tx, kind, id)).map((row) => row.id);
    for (const page of pagesOf(owned, ROWS_PER_STATEMENT)) {
      await noun.removeAll(context, tx, page, batch_id);
      await turn();
    }
  }
  await connection.noun.removeAll(context, tx, [id], batch_id);
}

/** A stored connection as a response shows it: without secrets, and with masked entries. */
function toConnection(row: ConnectionRow): Connection {
  const { password, ssl_key, ssh, ...rest } = row;
  return {
    ...rest,
    ...(isReference(password) && { password }),
    ...(isReference(ssl_key) && { ssl_key }),
    extra_params: Object.fromEntries(
      Object.entries(row.extra_params).map(([key, value]) => [key, isSealed(value) ? MASK : value]),
    ),
    password_set: password !== null,
    ssl_key_set: ssl_key !== null,
    ssh: ssh && showSsh(ssh),
  };
}

async function testSource(source: Source, chosen: DbType, within_ms: number): Promise<TestResult> {
  const started = performance.now();
  const latency = () => Math.round((performance.now() - started) * 10) / 10;
  try {
    const [report, hosts] = await withinTimeout(Promise.all([source.test(), source.hosts?.()]), within_ms);
    const db_type = kindOfServer(chosen, report.server_version);
    return {
      success: true,
      message: 'Connected.',
      latency_ms: latency(),
      server_version: report.server_version,
      ...(db_type === chosen ? {} : { db_type }),
      ...(report.limits === undefined || report.limits.length === 0 ? {} : { limits: [...report.limits] }),
      ...(hosts && { hosts: [...hosts] }),
      warnings: [...report.warnings],
    };
  } catch (error) {
    // A server of another kind often accepts the connection and then waits.
    const is_silent = error instanceof AppError && error.code === 'timeout';
    const message = `The database did not answer within ${within_ms / 1_000} seconds. Check the host and the port, and that firewalls and security groups allow this server.`;
    return { ...toFailure(error), latency_ms: latency(), ...(is_silent ? { message } : {}) };
  }
}

const TEST_CODES: readonly (TestResult['code'] & string)[] = [
  ...TUNNEL_CODES,
  'dns_failed',
  'refused',
  'timeout',
  'auth_failed',
  'database_missing',
  'tls_failed',
  'private_network_blocked',
  NO_PRIMARY,
];

function toFailure(error: unknown): TestResult {
  if (!(error instanceof AppError)) throw error;
  const code = TEST_CODES.find((known) => known === error.reason || known === error.code) ?? 'failed';
  const [fault] = error.errors;
  return {
    success: false,
    message: error.detail,
    latency_ms: 0,
    code,
    ...(fault && { field: fault.field }),
    ...(error instanceof HostKeyFault && { host_key: error.fingerprint }),
    warnings: [],
  };
}

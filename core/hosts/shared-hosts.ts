import type { Platform } from '#core/platform/platform.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import { and, eq, gt, lt, sql } from 'drizzle-orm';
import { readMeta, writeMeta } from '#core/store/meta.ts';
import type { Acknowledgement } from '#core/contract/deploy/control.ts';
import type { LocalHost } from './host-registry.ts';
import { runEvery } from '#core/platform/run-every.ts';
import { databaseSeconds, mayHaveOthers } from '#core/platform/leases.ts';
import { onSignal, signal } from '#core/platform/signals.ts';

/** A server says so often that its hosts are there; one that said nothing for `GONE_SECONDS` has ended. */
const SAY_MS = 2_000;
const GONE_SECONDS = 8;
const FORGET_SECONDS = 60;
/** While somebody waits for answers they are looked for so often; otherwise a signal or `SAY_MS` brings them. */
const LOOK_MS = 200;
/** An answer may come before the server that the host is connected to has said that it is. */
const ANSWER_TRIES = 20;
const PROBE = 'listener_probe';

/** Lets every server of a PostgreSQL database know the hosts of the others, and what they answer. @returns a function that ends it. */
export function shareHosts(app: Platform & WithHosts): () => void {
  if (!mayHaveOthers(app)) return () => undefined;
  const { hosts } = app.store.tables;
  const server = app.ids();
  const now = databaseSeconds(app);
  let telling: Promise<void> = Promise.resolve();
  let said_at = Number.NEGATIVE_INFINITY;
  /** Hosts as they were last read, and the last answers of hosts of other servers that the database did not take. */
  let known: ReadonlyMap<string, { readonly connection: string; readonly acks: number }> = new Map();
  const untold = new Map<string, { readonly ack: Acknowledgement; missing_since: number | null }>();
  /** The last request that was seen; undefined until it was looked for. */
  let probed: string | null | undefined;

  /** One after the other: a connection that ended must not be told after the next one. */
  const tell = (work: () => Promise<void>): void => {
    telling = telling
      .then(work)
      .then(() => signal(app, 'hosts'))
      .catch((error: unknown) => app.log.warning('publishing the list of hosts failed', { reason: String(error) }));
    app.background(telling);
  };
  const say = (id: string, { connection, connected_at, ack, acks }: LocalHost): Promise<unknown> => {
    const row = { server, connection, connected_at, seen_at: now, ...answerOf(ack), acks, probe: null, probe_error: null };
    return app.store.write((tx) =>
      tx
        .insert(hosts)
        .values({ id, ...row })
        .onConflictDoUpdate({ target: hosts.id, set: row }),
    );
  };
  const answer = async (id: string, ack: Acknowledgement): Promise<void> => {
    if (ack.request_id === null && !app.hosts.local().has(id)) untold.set(id, { ack, missing_since: null });
    const change =
      ack.request_id === null
        ? { ...answerOf(ack), acks: sql<number>`${hosts.acks} + 1` }
        : { probe: ack.request_id, probe_error: ack.error };
    for (let left = ANSWER_TRIES; left > 0; left--) {
      const told = await app.store.write((tx) =>
        tx.update(hosts).set(change).where(eq(hosts.id, id)).returning({ id: hosts.id }),
      );
      if (told.length > 0) {
        if (untold.get(id)?.ack === ack) untold.delete(id);
        return;
      }
      await app.sleep(100);
    }
  };

  /** The last answer of a host of this server, if the database was away when it came. */
  const answerAgain = async (id: string, connection: string): Promise<void> => {
    const host = app.hosts.local().get(id);
    if (host?.connection !== connection) return;
    const change = { ...answerOf(host.ack), acks: host.acks };
    const behind = and(eq(hosts.id, id), eq(hosts.connection, connection), lt(hosts.acks, host.acks));
    await app.store.write((tx) => tx.update(hosts).set(change).where(behind));
  };
  /** The same of a host of another server, unless that has told a later one. */
  const handOnAgain = async (id: string, ack: Acknowledgement): Promise<void> => {
    const before = known.get(id);
    if (untold.get(id)?.ack !== ack || before === undefined) return;
    const change = { ...answerOf(ack), acks: before.acks + 1 };
    const same = and(eq(hosts.id, id), eq(hosts.connection, before.connection), eq(hosts.acks, before.acks));
    await app.store.write((tx) => tx.update(hosts).set(change).where(same));
    untold.delete(id);
  };

  const read = async (): Promise<void> => {
    const rows = await app.store.db
      .select()
      .from(hosts)
      .where(gt(hosts.seen_at, sql`${now} - ${sql.raw(String(GONE_SECONDS))}`))
      .orderBy(hosts.id);
    known = new Map(rows.map((row) => [row.id, row]));
    // After the database was away for a while no host is known until its server has said that it is there.
    for (const [id, waiting] of untold) {
      waiting.missing_since = known.has(id) ? null : (waiting.missing_since ?? performance.now());
      if (waiting.missing_since !== null && performance.now() - waiting.missing_since > FORGET_SECONDS * 1_000) untold.delete(id);
    }
    app.hosts.learn(rows);
  };
  /** Says that the hosts of this server are there; what could not be told before is told now. */
  const keep = async (): Promise<void> => {
    const kept = await app.store.write(async (tx) => {
      await tx.delete(hosts).where(lt(hosts.seen_at, sql`${now} - ${sql.raw(String(FORGET_SECONDS))}`));
      return tx
        .update(hosts)
        .set({ seen_at: now })
        .where(eq(hosts.server, server))
        .returning({ id: hosts.id, connection: hosts.connection, acks: hosts.acks });
    });
    for (const [id, { ack }] of untold) tell(() => handOnAgain(id, ack));
    const told = new Map(kept.map(({ connection, acks }) => [connection, acks]));
    for (const [id, host] of app.hosts.local()) {
      const acks = told.get(host.connection);
      // After the answers that are on their way.
      if (acks !== undefined && acks < host.acks) tell(() => answerAgain(id, host.connection));
      if (acks !== undefined) continue;
      const [other] = await app.store.db.select({ id: hosts.id }).from(hosts).where(eq(hosts.id, id));
      if (other === undefined) await say(id, host);
    }
    for (const { id, connection } of kept) {
      if (app.hosts.local().get(id)?.connection === connection) continue;
      await app.store.write((tx) => tx.delete(hosts).where(and(eq(hosts.id, id), eq(hosts.connection, connection))));
    }
  };
  /** Hands on what another server asks the hosts to try. */
  const passOn = async (): Promise<void> => {
    const text = await readMeta(app.store, app.store.db, PROBE);
    const before = probed;
    probed = text;
    if (text === null || before === undefined || text === before) return;
    const request = JSON.parse(text) as { host: string; port: number; request_id: string; server: string };
    if (request.server !== server) app.hosts.publish({ event: 'listen', data: request });
  };

  app.hosts.share({
    connected: (id, connection, connected_at) =>
      tell(async () => void (await say(id, { connection, connected_at, ack: null, acks: 0 }))),
    gone: (id, connection) =>
      tell(async () => {
        await app.store.write((tx) => tx.delete(hosts).where(and(eq(hosts.id, id), eq(hosts.connection, connection))));
      }),
    acknowledged: (id, ack) => tell(() => answer(id, ack)),
    // A server that misses it waits no longer than for a host that says nothing.
    taken: (id, list) => app.background(signal(app, 'lists', JSON.stringify([id, list]))),
    async probe(request) {
      const value = JSON.stringify({ ...request, server });
      await app.store.write((tx) => writeMeta(app.store, tx, PROBE, value));
      await signal(app, 'hosts');
    },
    refresh: read,
    settled: () => telling,
  });
  const turn = async (): Promise<void> => {
    const due = performance.now() - said_at >= SAY_MS;
    if (due) {
      await keep();
      said_at = performance.now();
      await passOn();
    }
    if (due || app.hosts.awaited()) await read();
  };
  const woken = async (): Promise<void> => {
    await passOn();
    await read();
  };
  const what = 'reading the hosts of other servers';
  const ends = [
    runEvery(app, { every_ms: LOOK_MS, what, work: turn, at_once: true }),
    runEvery(app, { every_ms: SAY_MS, what, work: woken, wake: 'hosts' }),
    onSignal(app, 'lists', (message) => app.hosts.taken(...(JSON.parse(message) as [id: string, list: string]))),
  ];
  return () => {
    for (const end of ends) end();
    // They turn to another server at once; until then nobody waits for them.
    tell(async () => void (await app.store.write((tx) => tx.delete(hosts).where(eq(hosts.server, server)))));
  };
}

const answerOf = (ack: Acknowledgement | null) => ({
  url: ack?.url ?? null,
  snapshot_version: ack?.version ?? null,
  checksum: ack?.checksum ?? null,
  load_ms: ack?.load_ms ?? null,
  error: ack?.error ?? null,
});

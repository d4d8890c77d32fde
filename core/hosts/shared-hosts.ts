import type { Platform } from '#core/platform/platform.ts';
import { reasonOf } from '#core/process/log.ts';
import { and, eq, gt, lt, type SQL, sql } from 'drizzle-orm';
import type { Schema } from '#core/store/schema.ts';
import { readMeta, writeMeta } from '#core/store/meta.ts';
import type { Acknowledgement, SignOfLife } from '#core/contract/deploy/control.ts';
import type { LocalHost, WithHosts } from './host-registry.ts';
import type { ConnectedHost, Sharing } from './sharing.ts';
import { runEvery } from '#core/platform/run-every.ts';
import { databaseSeconds, mayHaveOthers } from '#core/platform/leases.ts';
import { onSignal, signal } from '#core/platform/signals.ts';

/** How often a server renews `seen_at` of its hosts. After `GONE_SECONDS` without a renewal they count as disconnected. */
const RENEW_MS = 2_000;
const GONE_SECONDS = 8;
const DELETE_SECONDS = 60;
/** How often answers are read while something waits for them; otherwise a signal or `RENEW_MS` brings them. */
const POLL_MS = 200;
/** An answer may arrive before the server that the host is connected to has stored the host. */
const ANSWER_TRIES = 20;
/** Signs of life of one host are stored at most this often. */
const SIGN_MS = 2_000;
/** Without a successful read for this time, signs of life that other servers received are missing here. */
const UNREAD_MS = 3 * RENEW_MS;
const PROBE = 'listener_probe';

/** Shares the hosts of each server, and their answers, with the others of a PostgreSQL database. @returns a function that stops it. */
export function shareHosts(app: Platform & WithHosts): () => void {
  if (!mayHaveOthers(app)) return () => undefined;
  const shared = new StoredHosts(app);
  app.hosts.share(shared);
  const what = 'reading the hosts of other servers';
  const ends = [
    runEvery(app, { every_ms: POLL_MS, what, work: () => shared.turn(), at_once: true }),
    runEvery(app, { every_ms: RENEW_MS, what, work: () => shared.woken(), wake: 'hosts' }),
    onSignal(app, 'lists', (message) => app.hosts.confirmed(...(JSON.parse(message) as [id: string, list: string]))),
  ];
  return () => {
    for (const end of ends) end();
    shared.removeLocal();
  };
}

/** The hosts of all servers, as the database has them. */
class StoredHosts implements Sharing {
  readonly #app: Platform & WithHosts;
  readonly #hosts: Schema['hosts'];
  /** Id of this server. */
  readonly #server: string;
  readonly #now: SQL<number>;
  #writing: Promise<void> = Promise.resolve();
  #renewed_at = Number.NEGATIVE_INFINITY;
  /** Hosts as they were last read. */
  #known: ReadonlyMap<string, { readonly connection: string; readonly acks: number }> = new Map();
  /** The last stored sign of life of each host. */
  readonly #signed = new Map<string, SignOfLife & { readonly at: number }>();
  #read_at = Number.NEGATIVE_INFINITY;
  /** The last answers of hosts of other servers that could not be stored. */
  readonly #unsaved = new Map<string, { readonly ack: Acknowledgement; missing_since: number | null }>();
  /** The last request that was read; undefined before the first reading. */
  #probed: string | null | undefined;

  constructor(app: Platform & WithHosts) {
    this.#app = app;
    this.#hosts = app.store.tables.hosts;
    this.#server = app.ids();
    this.#now = databaseSeconds(app);
  }

  connected(id: string, host: ConnectedHost): void {
    this.#enqueue(async () => void (await this.#storeHost(id, { ...host, ack: null, disk_fault: null, acks: 0 })));
  }

  gone(id: string, connection: string): void {
    this.#enqueue(() => this.#deleteHost(id, connection));
  }

  acknowledged(id: string, ack: Acknowledgement): void {
    this.#enqueue(() => this.#storeAnswer(id, ack));
  }

  alive(id: string, { disk_fault }: SignOfLife): void {
    const at = performance.now();
    const last = this.#signed.get(id);
    if (last?.disk_fault === disk_fault && at - last.at < SIGN_MS) return;
    this.#signed.set(id, { at, disk_fault });
    const sign = { signed_at: this.#now, disk_fault };
    const stored = this.#app.store.write((tx) => tx.update(this.#hosts).set(sign).where(eq(this.#hosts.id, id)));
    // The next one follows in seconds.
    this.#app.background(stored.then(() => undefined).catch(() => undefined));
  }

  readable(): boolean {
    return performance.now() - this.#read_at < UNREAD_MS;
  }

  /** A server that misses this signal waits for its timeout, as for a host that does not answer. */
  confirmed(id: string, list: string): void {
    this.#app.background(signal(this.#app, 'lists', JSON.stringify([id, list])));
  }

  async probe(request: { readonly host: string; readonly port: number; readonly request_id: string }): Promise<void> {
    const { store } = this.#app;
    const value = JSON.stringify({ ...request, server: this.#server });
    await store.write((tx) => writeMeta(store, tx, PROBE, value));
    await signal(this.#app, 'hosts');
  }

  settled(): Promise<void> {
    return this.#writing;
  }

  async refresh(): Promise<void> {
    const rows = await this.#app.store.db
      .select()
      .from(this.#hosts)
      .where(gt(this.#hosts.seen_at, sql`${this.#now} - ${sql.raw(String(GONE_SECONDS))}`))
      .orderBy(this.#hosts.id);
    this.#read_at = performance.now();
    this.#known = new Map(rows.map((row) => [row.id, row]));
    for (const id of this.#signed.keys()) if (!this.#known.has(id)) this.#signed.delete(id);
    // After the database was down for a while, no host is known until its server has renewed it.
    for (const [id, waiting] of this.#unsaved) {
      waiting.missing_since = this.#known.has(id) ? null : (waiting.missing_since ?? performance.now());
      if (waiting.missing_since !== null && performance.now() - waiting.missing_since > DELETE_SECONDS * 1_000)
        this.#unsaved.delete(id);
    }
    this.#app.hosts.learn(rows);
  }

  async turn(): Promise<void> {
    const due = performance.now() - this.#renewed_at >= RENEW_MS;
    if (due) {
      await this.#renew();
      this.#renewed_at = performance.now();
      await this.#forwardProbe();
    }
    if (due || this.#app.hosts.awaited()) await this.refresh();
  }

  async woken(): Promise<void> {
    await this.#forwardProbe();
    await this.refresh();
  }

  /** When this server stops, its hosts reconnect to another one at once. Until then no server has to wait for them. */
  removeLocal(): void {
    this.#enqueue(async () => {
      await this.#app.store.write((tx) => tx.delete(this.#hosts).where(eq(this.#hosts.server, this.#server)));
    });
  }

  /** Writes one change after the other: the end of a connection must not be written after the next connection. */
  #enqueue(work: () => Promise<void>): void {
    this.#writing = this.#writing
      .then(work)
      .then(() => signal(this.#app, 'hosts'))
      .catch((error: unknown) => this.#app.log.warning('publishing the list of hosts failed', { reason: reasonOf(error) }));
    this.#app.background(this.#writing);
  }

  #storeHost(id: string, { connection, connected_at, origin, ack, disk_fault, acks }: LocalHost): Promise<unknown> {
    const row = {
      server: this.#server,
      connection,
      connected_at,
      ...origin,
      seen_at: this.#now,
      ...answerOf(ack),
      disk_fault,
      acks,
      signed_at: null,
      probe: null,
      probe_error: null,
    };
    return this.#app.store.write((tx) =>
      tx
        .insert(this.#hosts)
        .values({ id, ...row })
        .onConflictDoUpdate({ target: this.#hosts.id, set: row }),
    );
  }

  async #deleteHost(id: string, connection: string): Promise<void> {
    const row = and(eq(this.#hosts.id, id), eq(this.#hosts.connection, connection));
    await this.#app.store.write((tx) => tx.delete(this.#hosts).where(row));
  }

  async #storeAnswer(id: string, ack: Acknowledgement): Promise<void> {
    if (ack.request_id === null && !this.#app.hosts.local().has(id)) this.#unsaved.set(id, { ack, missing_since: null });
    const change =
      ack.request_id === null
        ? { ...answerOf(ack), acks: sql<number>`${this.#hosts.acks} + 1` }
        : { probe: ack.request_id, probe_error: ack.error };
    for (let tries = ANSWER_TRIES; tries > 0; tries--) {
      const stored = await this.#app.store.write((tx) =>
        tx.update(this.#hosts).set(change).where(eq(this.#hosts.id, id)).returning({ id: this.#hosts.id }),
      );
      if (stored.length > 0) {
        if (this.#unsaved.get(id)?.ack === ack) this.#unsaved.delete(id);
        return;
      }
      await this.#app.sleep(100);
    }
  }

  /** Stores the last answer of a host of this server again, if the database was down when it arrived. */
  async #retryLocalAnswer(id: string, connection: string): Promise<void> {
    const host = this.#app.hosts.local().get(id);
    if (host?.connection !== connection) return;
    const change = { ...answerOf(host.ack), acks: host.acks };
    const behind = and(eq(this.#hosts.id, id), eq(this.#hosts.connection, connection), lt(this.#hosts.acks, host.acks));
    await this.#app.store.write((tx) => tx.update(this.#hosts).set(change).where(behind));
  }

  /** Stores the last answer of a host of another server again, unless that server has stored a later one. */
  async #retryOtherAnswer(id: string, ack: Acknowledgement): Promise<void> {
    const before = this.#known.get(id);
    if (this.#unsaved.get(id)?.ack !== ack || before === undefined) return;
    const change = { ...answerOf(ack), acks: before.acks + 1 };
    const same = and(eq(this.#hosts.id, id), eq(this.#hosts.connection, before.connection), eq(this.#hosts.acks, before.acks));
    await this.#app.store.write((tx) => tx.update(this.#hosts).set(change).where(same));
    this.#unsaved.delete(id);
  }

  /** Renews the hosts of this server, and stores what could not be stored before. */
  async #renew(): Promise<void> {
    const renewed = await this.#app.store.write(async (tx) => {
      await tx.delete(this.#hosts).where(lt(this.#hosts.seen_at, sql`${this.#now} - ${sql.raw(String(DELETE_SECONDS))}`));
      return tx
        .update(this.#hosts)
        .set({ seen_at: this.#now })
        .where(eq(this.#hosts.server, this.#server))
        .returning({ id: this.#hosts.id, connection: this.#hosts.connection, acks: this.#hosts.acks });
    });
    for (const [id, { ack }] of this.#unsaved) this.#enqueue(() => this.#retryOtherAnswer(id, ack));
    const stored_acks = new Map(renewed.map(({ connection, acks }) => [connection, acks]));
    for (const [id, host] of this.#app.hosts.local()) {
      const acks = stored_acks.get(host.connection);
      // Enqueued behind the answers that are being written.
      if (acks !== undefined && acks < host.acks) this.#enqueue(() => this.#retryLocalAnswer(id, host.connection));
      if (acks !== undefined) continue;
      const [other] = await this.#app.store.db.select({ id: this.#hosts.id }).from(this.#hosts).where(eq(this.#hosts.id, id));
      if (other === undefined) await this.#storeHost(id, host);
    }
    for (const { id, connection } of renewed) {
      if (this.#app.hosts.local().get(id)?.connection === connection) continue;
      await this.#deleteHost(id, connection);
    }
  }

  /** Forwards the probe of an address that another server requests of all hosts. */
  async #forwardProbe(): Promise<void> {
    const text = await readMeta(this.#app.store, this.#app.store.db, PROBE);
    const before = this.#probed;
    this.#probed = text;
    if (text === null || before === undefined || text === before) return;
    const request = JSON.parse(text) as { host: string; port: number; request_id: string; server: string };
    if (request.server !== this.#server) this.#app.hosts.publish({ event: 'listen', data: request });
  }
}

const answerOf = (ack: Acknowledgement | null) => ({
  url: ack?.url ?? null,
  snapshot_version: ack?.version ?? null,
  checksum: ack?.checksum ?? null,
  load_ms: ack?.load_ms ?? null,
  error: ack?.error ?? null,
  disk_fault: ack?.disk_fault ?? null,
});

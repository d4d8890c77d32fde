import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import type { Platform } from '#core/platform/platform.ts';
import { withLease } from '#core/platform/leases.ts';
import { onSignal, signal } from '#core/platform/signals.ts';
import type { Input } from '#core/contract/index.ts';
import type { HostReplay, Replay } from '#core/contract/deploy/replay.ts';
import { AppError, invalidField } from '#core/errors.ts';
import type { Actor, Context, Handlers } from '#core/context/context.ts';
import { activeSnapshot, readDeployment } from '#core/versions/deployment.ts';
import type { ReplayEnd, ReplayRequest } from '#core/contract/deploy/control.ts';
import { snapshotNamed } from '#core/versions/stored-candidates.ts';

/** Replays whose answers this server waits for. */
export interface ReplayRequests {
  readonly server: string;
  readonly waiting: Map<string, (host: string, answer: HostReplay) => void>;
}
export const createReplayRequests = (server: string): ReplayRequests => ({ server, waiting: new Map() });

const LEASE = 'replay';
/** How long hosts run calls, and how much longer the server waits for their answers. */
const RUN_MS = 60_000;
const ANSWER_MS = 5_000;
/** Differences in one response. */
const MAX_SAMPLES = 200;

export const replayHandlers: Pick<Handlers<WithSources & WithHosts & WithReplays & WithSnapshots>, 'replay.run'> = {
  'replay.run': async (context, input) => {
    const { app } = context;
    const name = await targetOf(app, input);
    await requireSamples(app);
    return replayCallsOn(context, name, input.calls);
  },
};

/** Runs recent calls on the live version and on another snapshot. @param name by which hosts request the snapshot. */
export async function replayCallsOn(
  context: Context<WithSources & WithHosts & WithReplays>,
  name: string,
  calls: number,
): Promise<Replay> {
  const { app, actor } = context;
  // One replay at a time on all servers: each runs its calls twice on the live databases.
  const found = await withLease(app, LEASE, (_, { lost }) => {
    const signal = context.signal === undefined ? lost : AbortSignal.any([context.signal, lost]);
    return runOnHosts({ ...context, signal }, name, calls);
  });
  if (found === null) throw new AppError('conflict', 'A replay is already running. Wait for it to finish, or cancel it.');
  const { samples: _, notes: _notes, ...counts } = found;
  app.log.from('deploy').info('replayed recent calls', { ...counts, hosts: counts.hosts.length, by: actor?.name ?? 'system' });
  return found;
}

/** The name by which hosts request the snapshot. */
async function targetOf(app: Platform & WithSnapshots, { candidate, version }: Input<'replay.run'>): Promise<string> {
  if ((candidate === undefined) === (version === undefined)) {
    throw invalidField('version', 'Send either candidate or version: what to compare with the live version.');
  }
  const name = candidate ?? `v${version}`;
  const is_version = /^v\d+$/.test(candidate ?? '');
  if (!is_version && (await snapshotNamed(app, name)) !== null) return name;
  throw new AppError(
    'not_found',
    candidate === undefined ? `There is no snapshot ${version}.` : 'There is no candidate with this id.',
  );
}

/** Throws `conflict` when there are no calls to replay. */
export async function requireSamples(app: Platform & WithSnapshots): Promise<void> {
  const state = await readDeployment(app);
  const active = state.desired === 'running' ? await activeSnapshot(app, state) : null;
  if (active === null) throw new AppError('conflict', 'Nothing is served now, so there are no calls to replay. Deploy first.');
  if ((active.server.replay_samples ?? 0) > 0) return;
  throw new AppError('conflict', 'Replay is off. Set replay_samples above 0 and deploy, then try again after some calls.');
}

/** Only people see rows, because they may run SQL anyway. */
const maySeeValues = (actor: Actor | null): boolean => actor?.type === 'admin' || actor?.type === 'system';

async function runOnHosts(context: Context<WithSources & WithHosts & WithReplays>, name: string, calls: number): Promise<Replay> {
  const { app, actor } = context;
  await app.hosts.refresh();
  const { reachable, away } = hostsFor(app);
  const request: ReplayRequest = {
    request_id: app.ids(),
    name,
    calls: Math.ceil(calls / Math.max(1, reachable.length)),
    values: maySeeValues(actor),
    time_ms: RUN_MS,
  };
  const answers = await gather(context, request, reachable);
  const sum = (of: 'calls' | 'same' | 'changed' | 'failed' | 'slower' | 'skipped') =>
    [...answers.values()].reduce((total, answer) => total + answer[of], 0);
  const notes = [...new Set([...answers.values()].flatMap((answer) => answer.notes))];
  return {
    against: name,
    calls: sum('calls'),
    same: sum('same'),
    changed: sum('changed'),
    failed: sum('failed'),
    slower: sum('slower'),
    skipped: sum('skipped'),
    samples: [...answers.values()].flatMap(({ samples }) => samples).slice(0, MAX_SAMPLES),
    notes: away.length === 0 ? notes : [awayNote(away), ...notes],
    hosts: reachable.map((id) => {
      const { calls: run = 0, error = 'The host did not answer in time.' } = answers.get(id) ?? {};
      return { id, calls: run, error };
    }),
  };
}

/** The hosts that a replay can reach. Hosts of other servers are reachable only through Redis. */
function hostsFor(app: Platform & WithHosts): { readonly reachable: readonly string[]; readonly away: readonly string[] } {
  const ids = app.hosts.list().map(({ id }) => id);
  if (reachesOthers(app)) return { reachable: ids, away: [] };
  const local = app.hosts.local();
  return { reachable: ids.filter((id) => local.has(id)), away: ids.filter((id) => !local.has(id)) };
}

const reachesOthers = ({ env, kv }: Platform): boolean => env.SVC_KV !== 'memory' && kv.up();

const awayNote = (ids: readonly string[]): string =>
  `These hosts are connected to another server and did not take part, because servers reach each other's hosts only through Redis: ${ids.join(', ')}.`;

/** The answers of hosts. Hosts that do not answer in time are missing. */
function gather(
  { app, signal: disconnected }: Context<WithSources & WithHosts & WithReplays>,
  request: ReplayRequest,
  ids: readonly string[],
): Promise<Map<string, HostReplay>> {
  const answers = new Map<string, HostReplay>();
  if (ids.length === 0) return Promise.resolve(answers);
  const { promise, resolve, reject } = Promise.withResolvers<typeof answers>();
  const onCancel = () => reject(new AppError('cancelled', 'The replay was cancelled.'));
  const timer = setTimeout(() => resolve(answers), request.time_ms + ANSWER_MS);
  app.replays.waiting.set(request.request_id, (host, answer) => {
    if (!ids.includes(host)) return;
    answers.set(host, answer);
    if (answers.size === ids.length) resolve(answers);
  });
  disconnected?.addEventListener('abort', onCancel, { once: true });
  if (disconnected?.aborted === true) onCancel();
  else sendToHosts(app, request);
  return promise.finally(() => {
    clearTimeout(timer);
    disconnected?.removeEventListener('abort', onCancel);
    app.replays.waiting.delete(request.request_id);
    if (answers.size < ids.length) sendToHosts(app, { request_id: request.request_id, cancelled: true });
  });
}

/** A message about a replay between the servers of an installation. It is not stored. */
type Message = { readonly server: string } & (
  | { readonly ask: ReplayRequest | ReplayEnd }
  | { readonly host: string; readonly answer: HostReplay }
);

function sendToHosts(app: Platform & WithHosts & WithReplays, ask: ReplayRequest | ReplayEnd): void {
  app.hosts.publish({ event: 'replay', data: ask });
  sendToServers(app, { server: app.replays.server, ask });
}

function sendToServers(app: Platform, message: Message): void {
  if (app.env.SVC_KV === 'memory') return;
  app.background(signal(app, 'replay', JSON.stringify(message)));
}

/** Receives the answer of a host of this server, and forwards it when another server waits for it. */
export function takeReplayAnswer(app: Platform & WithReplays, host: string, answer: HostReplay): void {
  const waiter = app.replays.waiting.get(answer.request_id);
  if (waiter !== undefined) waiter(host, answer);
  else sendToServers(app, { server: app.replays.server, host, answer });
}

/** Forwards replays of other servers to the hosts of this one, and receives their answers. @returns a function that stops it. */
export function followReplays(app: Platform & WithHosts & WithReplays): () => void {
  return onSignal(app, 'replay', (text) => {
    const message = JSON.parse(text) as Message;
    if (message.server === app.replays.server) return;
    if ('ask' in message) app.hosts.publish({ event: 'replay', data: message.ask });
    else app.replays.waiting.get(message.answer.request_id)?.(message.host, message.answer);
  });
}

export interface WithReplays {
  readonly replays: ReplayRequests;
}

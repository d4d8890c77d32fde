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

/** Replays that this server waits for. */
export interface ReplayRequests {
  readonly server: string;
  readonly waiting: Map<string, (host: string, answer: HostReplay) => void>;
}
export const createReplayRequests = (server: string): ReplayRequests => ({ server, waiting: new Map() });

const LEASE = 'replay';
/** How long hosts run calls, and how much longer their answers are waited for. */
const RUN_MS = 60_000;
const ANSWER_MS = 5_000;
/** Differences of one answer. */
const MOST_TOLD = 200;

export const replayHandlers: Pick<Handlers<WithSources & WithHosts & WithReplays & WithSnapshots>, 'replay.run'> = {
  'replay.run': async (context, input) => {
    const { app } = context;
    const name = await targetOf(app, input);
    await requireSamples(app);
    return replayCallsOn(context, name, input.calls);
  },
};

/** Runs recent calls on the live version and on another one, by the name that hosts ask for it. */
export async function replayCallsOn(
  context: Context<WithSources & WithHosts & WithReplays>,
  name: string,
  calls: number,
): Promise<Replay> {
  const { app, actor } = context;
  // One at a time, whichever server is asked: each runs its calls twice on the live databases.
  const found = await withLease(app, LEASE, (_, { lost }) => {
    const signal = context.signal === undefined ? lost : AbortSignal.any([context.signal, lost]);
    return askHosts({ ...context, signal }, name, calls);
  });
  if (found === null) throw new AppError('conflict', 'A replay is already running. Wait for it to finish, or cancel it.');
  const { samples: _, notes: _notes, ...counts } = found;
  app.log.from('deploy').info('replayed recent calls', { ...counts, hosts: counts.hosts.length, by: actor?.name ?? 'system' });
  return found;
}

/** By the name that hosts ask for it. */
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

/** Rejects where there is nothing to replay. */
export async function requireSamples(app: Platform & WithSnapshots): Promise<void> {
  const { desired } = await readDeployment(app);
  const active = desired === 'running' ? await activeSnapshot(app) : null;
  if (active === null) throw new AppError('conflict', 'Nothing is served now, so there are no calls to replay. Deploy first.');
  if ((active.server.replay_samples ?? 0) > 0) return;
  throw new AppError('conflict', 'Hosts keep no calls: set replay_samples above 0 and deploy, then try again after some calls.');
}

/** Rows are for people: they may run SQL themselves. */
const maySeeValues = (actor: Actor | null): boolean => actor?.type === 'admin' || actor?.type === 'system';

async function askHosts(context: Context<WithSources & WithHosts & WithReplays>, name: string, calls: number): Promise<Replay> {
  const { app, actor } = context;
  await app.hosts.refresh();
  const { asked, away } = hostsFor(app);
  const request: ReplayRequest = {
    request_id: app.ids(),
    name,
    calls: Math.ceil(calls / Math.max(1, asked.length)),
    values: maySeeValues(actor),
    time_ms: RUN_MS,
  };
  const answers = await gather(context, request, asked);
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
    samples: [...answers.values()].flatMap(({ samples }) => samples).slice(0, MOST_TOLD),
    notes: away.length === 0 ? notes : [awayNote(away), ...notes],
    hosts: asked.map((id) => {
      const { calls: run = 0, error = 'The host did not answer in time.' } = answers.get(id) ?? {};
      return { id, calls: run, error };
    }),
  };
}

/** The hosts that a replay can ask; those of other servers are away unless Redis carries the replay to them. */
function hostsFor(app: Platform & WithHosts): { readonly asked: readonly string[]; readonly away: readonly string[] } {
  const ids = app.hosts.list().map(({ id }) => id);
  if (reachesOthers(app)) return { asked: ids, away: [] };
  const local = app.hosts.local();
  return { asked: ids.filter((id) => local.has(id)), away: ids.filter((id) => !local.has(id)) };
}

const reachesOthers = ({ env, kv }: Platform): boolean => env.SVC_KV !== 'memory' && kv.up();

const awayNote = (ids: readonly string[]): string =>
  `These hosts are connected to another server and did not take part, because servers reach each other's hosts only through Redis: ${ids.join(', ')}.`;

/** What every host found; those that do not answer in time are left out. */
function gather(
  { app, signal: left }: Context<WithSources & WithHosts & WithReplays>,
  request: ReplayRequest,
  ids: readonly string[],
): Promise<Map<string, HostReplay>> {
  const answers = new Map<string, HostReplay>();
  if (ids.length === 0) return Promise.resolve(answers);
  const { promise, resolve, reject } = Promise.withResolvers<typeof answers>();
  const onLeft = () => reject(new AppError('cancelled', 'The replay was cancelled.'));
  const timer = setTimeout(() => resolve(answers), request.time_ms + ANSWER_MS);
  app.replays.waiting.set(request.request_id, (host, answer) => {
    if (!ids.includes(host)) return;
    answers.set(host, answer);
    if (answers.size === ids.length) resolve(answers);
  });
  left?.addEventListener('abort', onLeft, { once: true });
  if (left?.aborted === true) onLeft();
  else tell(app, request);
  return promise.finally(() => {
    clearTimeout(timer);
    left?.removeEventListener('abort', onLeft);
    app.replays.waiting.delete(request.request_id);
    if (answers.size < ids.length) tell(app, { request_id: request.request_id, cancelled: true });
  });
}

/** What servers of an installation say to each other of a replay; it is kept nowhere. */
type Message = { readonly server: string } & (
  | { readonly ask: ReplayRequest | ReplayEnd }
  | { readonly host: string; readonly answer: HostReplay }
);

function tell(app: Platform & WithHosts & WithReplays, ask: ReplayRequest | ReplayEnd): void {
  app.hosts.publish({ event: 'replay', data: ask });
  send(app, { server: app.replays.server, ask });
}

function send(app: Platform, message: Message): void {
  if (app.env.SVC_KV === 'memory') return;
  app.background(signal(app, 'replay', JSON.stringify(message)));
}

/** Takes what a host of this server found; another server may wait for it. */
export function takeReplayAnswer(app: Platform & WithReplays, host: string, answer: HostReplay): void {
  const waiter = app.replays.waiting.get(answer.request_id);
  if (waiter !== undefined) waiter(host, answer);
  else send(app, { server: app.replays.server, host, answer });
}

/** Hands on what other servers ask of the hosts here, and what these answer. @returns a function that ends it. */
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

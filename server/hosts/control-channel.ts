import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import * as v from 'valibot';
import { BootId, UsageBatch } from '#core/contract/observe/usage-batch.ts';
import type { Hono } from 'hono';
import { installationHeaders } from '#core/contract/deploy/installation.ts';
import { AppError } from '#core/errors.ts';
import { Acknowledgement, type HostEvent, type HostOrigin, SIGN_OF_LIFE, SignOfLife } from '#core/contract/deploy/control.ts';
import { toInvalid } from '#core/process/issues.ts';
import { reasonOf } from '#core/process/log.ts';
import { snapshotNamed } from '#core/versions/stored-candidates.ts';
import { wasDeployed } from '#core/versions/deployment.ts';
import { snapshotDelta, eventForHost } from '#core/deploy/publish.ts';
import { HostReplay } from '#core/contract/deploy/replay.ts';
import { takeReplayAnswer } from '#core/deploy/replay-calls.ts';
import { recordSignOff } from '#core/observe/notices/watch-hosts.ts';
import { forgetReports, storeUsage } from '#core/observe/usage.ts';
import { readJson } from '#server/request/body.ts';
import type { LiveLogs } from './live-logs.ts';
import type { ServerEnv } from '#server/request/server-env.ts';
import { peerAddress, requireServiceToken } from '#server/request/bearer.ts';
import { sideSnapshotsEvent } from '#core/deploy/candidates/side-snapshots.ts';
import { namesEvent } from '#core/hosts/host-names.ts';
import { decisionEvents } from '#core/identity/oauth/confirmations.ts';
import { identityEvent } from '#core/identity/oauth/published.ts';
import { tokensEvent } from '#core/identity/mcp-tokens.ts';
import { signedListsEvent } from '#core/deploy/signing/sign.ts';
import { createHostStream } from './host-stream.ts';

const MAX_USAGE = 16 * 1024 * 1024;

/** In characters. */
const LONGEST_VERSION = 64;

const MAX_REPLAY = 8 * 1024 * 1024;

const Leave = v.object({ boot_id: BootId });

/** The control channel of the hosts: a stream out, acknowledgements and usage in. */
export function addHostRoutes(app: ControlPlane, router: Hono<ServerEnv>, live_logs: LiveLogs): void {
  router.use('/api/internal/*', async (c, next) => {
    requireServiceToken(app, c);
    await next();
  });
  router.get('/api/internal/hosts/stream', async (c) => {
    const id = hostId(c.req.query('id') ?? '');
    const installation = installationHeaders({ id: app.installation_id, deployed: await wasDeployed(app) });
    const { have = null, alive, version } = c.req.query();
    const origin = { address: peerAddress(app, c), program_version: version?.slice(0, LONGEST_VERSION) ?? null };
    // Hosts of earlier versions give no signs of life.
    return new Response(openStream(app, { id, have, origin, gives_signs: alive === 'true' }, c.req.raw.signal), {
      headers: { ...installation, 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
    });
  });
  // Hosts fetch candidates and older versions here. Parts that the host already has are omitted.
  router.get('/api/internal/hosts/:id/beside/:name', async (c) => {
    const snapshot = await snapshotNamed(app, c.req.param('name'));
    if (snapshot === null) throw new AppError('not_found', 'There is no such candidate or version.');
    return c.json(await snapshotDelta(app, snapshot, c.req.query('have') ?? null));
  });
  router.post('/api/internal/hosts/:id/ack', async (c) => {
    const ack = v.safeParse(Acknowledgement, await readJson(c.req.raw, 64 * 1024));
    if (!ack.success) throw toInvalid(ack.issues, Object.keys(Acknowledgement.entries));
    app.hosts.acknowledge(c.req.param('id'), ack.output);
    // The host sends its next message, to any server, only after all servers know this one.
    await app.hosts.settled();
    return c.body(null, 204);
  });
  router.post('/api/internal/hosts/:id/alive', async (c) => {
    const sign = v.safeParse(SignOfLife, await readJson(c.req.raw, 64 * 1024));
    if (!sign.success) throw toInvalid(sign.issues, Object.keys(SignOfLife.entries));
    app.hosts.alive(hostId(c.req.param('id')), sign.output);
    return c.body(null, 204);
  });
  // A host that stops: its queues are removed, and no deploy waits for its return.
  router.post('/api/internal/hosts/:id/leave', async (c) => {
    const leave = v.safeParse(Leave, await readJson(c.req.raw, 64 * 1024));
    if (!leave.success) throw toInvalid(leave.issues, Object.keys(Leave.entries));
    await Promise.all([forgetReports(app, leave.output.boot_id), recordSignOff(app, hostId(c.req.param('id')))]);
    return c.body(null, 204);
  });
  router.post('/api/internal/hosts/:id/replay', async (c) => {
    const answer = v.safeParse(HostReplay, await readJson(c.req.raw, MAX_REPLAY));
    if (!answer.success) throw toInvalid(answer.issues, Object.keys(HostReplay.entries));
    takeReplayAnswer(app, hostId(c.req.param('id')), answer.output);
    return c.body(null, 204);
  });
  router.post('/api/internal/hosts/:id/usage', async (c) => {
    const batch = v.safeParse(UsageBatch, await readJson(c.req.raw, MAX_USAGE));
    if (!batch.success) throw toInvalid(batch.issues, Object.keys(UsageBatch.entries));
    const id = hostId(c.req.param('id'));
    if (await storeUsage(app, id, batch.output)) live_logs.takeFromHost(id, batch.output);
    return c.body(null, 204);
  });
}

function hostId(id: string): string {
  if (!/^[\w.:-]{1,128}$/.test(id)) throw new AppError('invalid', 'A host names itself with id.');
  return id;
}

interface Connecting {
  readonly id: string;
  readonly have: string | null;
  readonly origin: HostOrigin;
  readonly gives_signs: boolean;
}

/** The host is registered before its first event, so that it misses no event in between. */
function openStream(
  app: ControlPlane,
  { id, have, origin, gives_signs }: Connecting,
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  const log = app.log.from('host');
  let queued: HostEvent[] = [];
  let deliver = (event: HostEvent): void => {
    queued.push(event);
  };
  const onSilent = () => stream.drop(`it has given no sign of life for ${SIGN_OF_LIFE.silent_ms / 1_000} s`);
  const disconnect = app.hosts.connect(id, (event) => deliver(event), gives_signs ? onSilent : null, origin);
  const stream = createHostStream((reason) => {
    disconnect();
    if (reason !== null) log.warning('host dropped', { id, reason });
  });
  signal.addEventListener('abort', stream.left);
  if (signal.aborted) stream.left();
  const greet = async () => {
    // Sent first, because the snapshot may require tokens. Lists that were queued in between are older.
    await app.hosts.sendList(async () => {
      stream.send(await tokensEvent(app));
      stream.send(await identityEvent(app));
      queued = queued.filter(({ event }) => event !== 'tokens' && event !== 'identity');
    });
    stream.send(await namesEvent(app));
    // The host's answer may reach another server, which must know the host by then.
    await app.hosts.settled();
    const signed = await signedListsEvent(app);
    if (signed !== null) stream.send(signed);
    stream.send(await eventForHost(app, have));
    stream.send(await sideSnapshotsEvent(app));
    decisionEvents(app).forEach(stream.send);
    deliver = stream.send;
    for (const event of queued) stream.send(event);
    log.info('host connected', { id });
  };
  // A host without its first events is not connected.
  greet().catch((error: unknown) => stream.drop(`its first events could not be sent: ${reasonOf(error)}`));
  return stream.body;
}

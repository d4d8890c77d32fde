import { expect, test } from 'bun:test';
import { createApi } from '#ui/src/api.ts';
import { type Cache, createCache } from '#ui/src/kernel/data/cache.ts';
import { createDeployment } from '#ui/src/features/deploy/deployment.ts';
import { inFields, SUSPECT } from '#ui/src/pages/connections/words.ts';
import { TestResult } from '#core/contract/definitions/connections.ts';

const state = (snapshot_version: number, pending_changes: number, pending_checksum = String(pending_changes)) => ({
  status: 'running',
  snapshot_version,
  deployed_at: null,
  pending_changes,
  pending_checksum,
  hosts: [],
  last_error: null,
});
const RECEIPT = {
  status: 'running',
  snapshot_version: 2,
  checksum: 'c',
  changed: true,
  counts: { connections: 1, tools: 1, resources: 0, prompts: 0 },
  warnings: [],
  duration_ms: 3,
  hosts: [],
};

function deploymentOver(answer: (path: string, body: unknown) => Response | Promise<Response>) {
  const asked: string[] = [];
  let at = 0;
  const call = createApi({
    onSessionEnd: () => {},
    onChanged: (source) => cache.invalidate(source),
    fetch: (url, { body }) => {
      asked.push(url.replace('/api/v1/deploy', ''));
      return Promise.resolve(answer(url, typeof body === 'string' ? JSON.parse(body) : null));
    },
  });
  const cache: Cache = createCache(call, () => at);
  const deployment = createDeployment(call, cache);
  /** The status is read again, as after a notification. */
  const look = async () => {
    await deployment.status.reload();
    deployment.compare();
  };
  return { deployment, look, asked, pass: (ms: number) => (at += ms) };
}

test('another change of a tool that was changed already is read again', async () => {
  let [checksum, read] = ['a', 0];
  const { deployment, look, pass } = deploymentOver((path) => {
    if (path.endsWith('/deploy/status')) return Response.json(state(1, 1, checksum));
    read += 1;
    return Response.json({ from_version: 1, checksum, changes: [] });
  });
  await deployment.show();
  pass(2_000);
  await look();
  expect(read).toBe(1);
  checksum = 'b';
  pass(2_000);
  await look();
  await Bun.sleep(0);
  expect([read, deployment.diff.data()?.checksum]).toEqual([2, 'b']);
});

test('a deploy shows its receipt and reads again what is live and what waits', async () => {
  let live = state(1, 1);
  const { deployment, look, asked, pass } = deploymentOver((path) => {
    if (path.endsWith('/deploy/status')) return Response.json(live);
    if (path.endsWith('/deploy/diff')) return Response.json({ from_version: live.snapshot_version, changes: [] });
    live = state(2, 0);
    return Response.json(RECEIPT);
  });
  await deployment.show();
  pass(2_000);
  await look();
  // The state alone: nothing is compared again while nothing changed.
  expect(asked.splice(0)).toEqual(['/status', '/diff', '/status']);
  const running = deployment.run();
  expect(deployment.phase()).toBe('deploying');
  await running;
  expect([deployment.phase(), deployment.receipt()?.snapshot_version, deployment.status.data()?.pending_changes]).toEqual([
    'idle',
    2,
    0,
  ]);
  await deployment.diff.reload();
  expect(asked.splice(0)).toEqual(['', '/status', '/diff']);
  deployment.dismiss();
  expect(deployment.receipt()).toBeUndefined();

  // Somebody else changed something.
  live = state(2, 3);
  pass(2_000);
  await look();
  await deployment.diff.reload();
  expect(asked.filter((path) => path === '/diff')).toEqual(['/diff']);
});

test('a deploy whose answer was lost is no fault once its version is live, whoever reads this first', async () => {
  let live = state(1, 1);
  let away = false;
  const { deployment, look, pass } = deploymentOver((path) => {
    if (away) throw new TypeError('no connection');
    if (path.endsWith('/deploy/status')) return Response.json(live);
    if (path.endsWith('/deploy/diff')) return Response.json({ from_version: live.snapshot_version, changes: [] });
    live = state(2, 0);
    away = true;
    throw new TypeError('no connection');
  });
  await deployment.show();
  pass(2_000);
  await deployment.run();
  expect([deployment.problem()?.code, deployment.status.problem()?.code]).toEqual(['offline', 'offline']);
  pass(2_000);
  await look();
  expect(deployment.problem()?.code).toBe('offline');
  away = false;
  pass(2_000);
  await look();
  await deployment.diff.reload();
  expect([deployment.problem(), deployment.diff.data()?.from_version]).toEqual([undefined, 2]);
});

test('a note for the next deploy that is typed during one stays', async () => {
  const answer = Promise.withResolvers<Response>();
  const { deployment } = deploymentOver((path) => {
    if (path.endsWith('/deploy/status')) return Response.json(state(1, 1));
    if (path.endsWith('/deploy/diff')) return Response.json({ from_version: 1, changes: [] });
    return answer.promise;
  });
  await deployment.show();
  deployment.setNote('first');
  const running = deployment.run();
  deployment.setNote('second');
  answer.resolve(Response.json(RECEIPT));
  await running;
  expect(deployment.note()).toBe('second');
});

test('a second deploy does not begin while one runs, and a refused one keeps every reason', async () => {
  let deploys = 0;
  const { deployment } = deploymentOver((path) => {
    if (path.endsWith('/deploy/status')) return Response.json(state(1, 1));
    deploys += 1;
    return Response.json(
      { code: 'cannot_deploy', detail: 'One tool cannot be deployed.', errors: [{ field: 'tools.a', message: 'no such table' }] },
      { status: 422 },
    );
  });
  await Promise.all([deployment.run(), deployment.run()]);
  expect([deploys, deployment.phase(), deployment.receipt()]).toEqual([1, 'idle', undefined]);
  expect(deployment.problem()).toMatchObject({ code: 'cannot_deploy', errors: [{ field: 'tools.a' }] });
});

test('what was shown is what is deployed: when it is another by now, it is refused and shown anew', async () => {
  const sent: unknown[] = [];
  let checksum = 'sha256:read';
  const { deployment } = deploymentOver((path, body) => {
    if (path.endsWith('/deploy/status')) return Response.json(state(1, 1));
    if (path.endsWith('/deploy/diff')) return Response.json({ from_version: 1, checksum, changes: [] });
    sent.push(body);
    return Response.json({ code: 'conflict', detail: 'It has changed.', errors: [] }, { status: 409 });
  });
  await deployment.show();
  checksum = 'sha256:now';
  deployment.setNote(' why ');
  await deployment.run();
  expect([sent, deployment.problem()?.code]).toEqual([[{ checksum: 'sha256:read', note: 'why' }], 'conflict']);
  await deployment.diff.reload();
  expect(deployment.diff.data()?.checksum).toBe('sha256:now');
});

const BLOCKED = {
  code: 'gate_failed',
  detail: 'A gate found something.',
  errors: [{ field: 'tools.a', message: 'It reads too much.', gate: 'lint' }],
};

test('what a gate blocked is repeated as it was sent, past its findings', async () => {
  const sent: { path: string; body: object }[] = [];
  const { deployment } = deploymentOver((path, body) => {
    if (path.endsWith('/deploy/status')) return Response.json(state(2, 1));
    if (path.endsWith('/deploy/diff')) return Response.json({ from_version: 2, checksum: 'sha256:read', changes: [] });
    sent.push({ path: path.replace('/api/v1', ''), body: body as object });
    return 'allow' in (body as object) ? Response.json(RECEIPT) : Response.json(BLOCKED, { status: 422 });
  });
  await deployment.show();
  const canary = { percent: 10, minutes: 10, max_error_rate: null, max_p95_ratio: null, min_calls: 50 };
  const attempts = [
    {
      begin: () => deployment.run(),
      anyway: 'Deploy anyway',
      again: { path: '/deploy', body: { checksum: 'sha256:read', note: 'mine' } },
    },
    { begin: () => deployment.rehearse(), anyway: 'Dry run anyway', again: { path: '/deploy', body: { dry_run: true } } },
    { begin: () => deployment.activate(1), anyway: 'Restore anyway', again: { path: '/snapshots/1/activate', body: {} } },
    {
      begin: () => deployment.startCanary({ canary, note: 'few', candidate: 'c1' }),
      anyway: 'Start anyway',
      again: { path: '/deploy', body: { canary, candidate: 'c1', note: 'few' } },
    },
    {
      begin: () => deployment.promote('c2'),
      anyway: 'Promote anyway',
      again: { path: '/deploy/promote', body: { canary: 'c2' } },
    },
  ];
  for (const { begin, anyway, again } of attempts) {
    deployment.setNote('mine');
    expect([await begin(), deployment.problem()?.code, deployment.attempt()?.anyway]).toEqual([false, 'gate_failed', anyway]);
    await deployment.attempt()?.repeat({ allow: ['lint'] });
    expect([deployment.problem(), deployment.rehearsed()]).toEqual([undefined, anyway === 'Dry run anyway']);
    const { path, body } = again;
    expect(sent.splice(0)).toEqual([again, { path, body: { ...body, allow: ['lint'] } }]);
    // Only a deploy has used up the note.
    expect(deployment.note()).toBe(anyway === 'Deploy anyway' ? '' : 'mine');
  }
});

test('every classified failure of a connection test leads to a field, in the words of the form', () => {
  const codes = TestResult.entries.code.wrapped.options.filter((code) => code !== 'failed');
  expect(Object.keys(SUSPECT).toSorted()).toEqual([...codes].toSorted());
  expect(inFields('Turn TLS on there, or set ssl_mode to disable; check ssl_cert and ssl_key.')).toBe(
    'Turn TLS on there, or set TLS to “Never”; check Client certificate and Client key.',
  );
});

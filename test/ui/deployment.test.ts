import { expect, test } from 'bun:test';
import { createApi } from '#ui/src/api.ts';
import { type Cache, createCache } from '#ui/src/kernel/data/cache.ts';
import { createDeployment } from '#ui/src/features/deploy/deployment.ts';
import { ADVICE } from '#ui/src/pages/connections/words.ts';
import { TestResult } from '#core/contract/definitions/connections.ts';

const state = (snapshot_version: number, pending_changes: number) => ({
  status: 'running',
  snapshot_version,
  deployed_at: null,
  pending_changes,
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
    onChanged: (nouns) => cache.invalidate(nouns),
    fetch: (url, { body }) => {
      asked.push(url.replace('/api/v1/deploy', ''));
      return Promise.resolve(answer(url, typeof body === 'string' ? JSON.parse(body) : null));
    },
  });
  const cache: Cache = createCache(call, () => at);
  return { deployment: createDeployment(call, cache), asked, pass: (ms: number) => (at += ms) };
}

test('changes that could not be read are read again once the server answers', async () => {
  let away = true;
  const { deployment, pass } = deploymentOver((path) => {
    if (away) throw new TypeError('no connection');
    if (path.endsWith('/deploy/status')) return Response.json(state(1, 1));
    return Response.json({ from_version: 1, changes: [] });
  });
  await deployment.show();
  expect([deployment.status.problem()?.code, deployment.diff.problem()?.code]).toEqual(['offline', 'offline']);
  away = false;
  pass(2_000);
  await deployment.refresh();
  expect([deployment.status.problem(), deployment.diff.problem(), deployment.diff.data()?.from_version]).toEqual([
    undefined,
    undefined,
    1,
  ]);
});

test('a deploy shows its receipt and reads again what is live and what waits', async () => {
  let live = state(1, 1);
  const { deployment, asked, pass } = deploymentOver((path) => {
    if (path.endsWith('/deploy/status')) return Response.json(live);
    if (path.endsWith('/deploy/diff')) return Response.json({ from_version: live.snapshot_version, changes: [] });
    live = state(2, 0);
    return Response.json(RECEIPT);
  });
  await deployment.show();
  pass(2_000);
  await deployment.refresh();
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
  await deployment.refresh();
  await deployment.diff.reload();
  expect(asked.filter((path) => path === '/diff')).toEqual(['/diff']);
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
  await deployment.run('why');
  expect([sent, deployment.problem()?.code]).toEqual([[{ checksum: 'sha256:read', note: 'why' }], 'conflict']);
  await deployment.diff.reload();
  expect(deployment.diff.data()?.checksum).toBe('sha256:now');
});

test('every way in which a connection test fails has its advice', () => {
  const codes = TestResult.entries.code.wrapped.options;
  expect(Object.keys(ADVICE).toSorted()).toEqual([...codes].toSorted());
});

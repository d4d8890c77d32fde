import { expect, test } from 'bun:test';
import { createApi } from '#ui/src/api.ts';
import { createDeployment } from '#ui/src/kernel/deployment.ts';
import { ADVICE } from '#ui/src/pages/connections/words.ts';
import { TestResult } from '#core/contract/connections.ts';

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

function deploymentOver(answer: (path: string) => Response | Promise<Response>) {
  let changes = 0;
  const call = createApi({ onSessionEnd: () => {}, fetch: (url) => Promise.resolve(answer(url)) });
  const deployment = createDeployment(call, () => {
    changes += 1;
  });
  return { deployment, changes: () => changes };
}

test('a deploy shows its receipt, reads the state again and tells that it changed', async () => {
  let live = state(1, 1);
  const { deployment, changes } = deploymentOver((path) => {
    if (path.endsWith('/deploy/status')) return Response.json(live);
    live = state(2, 0);
    return Response.json(RECEIPT);
  });
  await deployment.refresh();
  await deployment.refresh();
  expect(changes()).toBe(0);
  const running = deployment.run();
  expect(deployment.phase()).toBe('deploying');
  await running;
  expect([deployment.phase(), deployment.receipt()?.snapshot_version, deployment.status.data()?.pending_changes]).toEqual([
    'idle',
    2,
    0,
  ]);
  expect(changes()).toBe(1);
  deployment.dismiss();
  expect(deployment.receipt()).toBeUndefined();
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

test('every way in which a connection test fails has its advice', () => {
  const codes = TestResult.entries.code.wrapped.options;
  expect(Object.keys(ADVICE).toSorted()).toEqual([...codes].toSorted());
});

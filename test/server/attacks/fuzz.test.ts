import { afterAll, beforeAll, expect, test } from 'bun:test';
import { fc } from '#test/support/chance.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { anyProgramRequest, anyRequest, prepare, sendAndCheck } from './fuzz-requests.ts';
import { CANARY } from './fuzz-values.ts';

const CASES = 20_000;

let t: TestApp;
let ids: Record<string, string>;
beforeAll(async () => {
  t = await testApp();
  ids = await prepare(t);
});
afterAll(() => t.close());

test('whatever is sent to whatever operation, the answer is one of the contract and holds nothing of it', async () => {
  let done = 0;
  const property = fc.asyncProperty(anyRequest(ids), async (request) => {
    if ((await sendAndCheck(t, request)) < 300) done += 1;
  });
  await fc.assert(property, { numRuns: CASES });
  // The requests are not all refused at the door.
  expect(done).toBeGreaterThan(CASES / 10);
}, 300_000);

test('whatever a host or the agent sends is taken or refused', async () => {
  let done = 0;
  const property = fc.asyncProperty(anyProgramRequest(t.app.env.SVC_AGENT_SERVICE_TOKEN), async (request) => {
    if ((await sendAndCheck(t, request)) < 300) done += 1;
  });
  await fc.assert(property, { numRuns: 1_000 });
  expect(done).toBeGreaterThan(100);
}, 60_000);

test('nothing of all that was refused or failed stands in the log', () => {
  const faults = t.log.filter(({ level }) => level === 'WARNING' || level === 'ERROR');
  expect(faults.filter((line) => JSON.stringify(line).includes(CANARY))).toEqual([]);
});

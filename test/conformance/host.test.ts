import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { deployDefinitions } from './definitions.ts';
import { type Exception, EXCEPTIONS } from './exceptions.ts';
import { failuresOf, type Outcome, runSuite } from './suite.ts';

let programs: Programs;
beforeAll(async () => {
  programs = await startPrograms({ env: { SVC_DEMO: 'false' } });
  await deployDefinitions(programs);
}, 120_000);
afterAll(async () => {
  await programs.stop();
  removeFolder(programs);
});

/** Every set with the number of its scenarios: that of a revision, and for older ones what the suite knows of them. */
const SETS: [string, string[], number][] = [
  ['2025-03-26', ['--suite', 'all', '--spec-version', '2025-03-26'], 1],
  ['2025-06-18', ['--suite', 'all', '--spec-version', '2025-06-18'], 27],
  ['2025-11-25', ['--requirements', '2025-11-25'], 33],
  ['2026-07-28', ['--requirements', '2026-07-28'], 50],
];

test.each(SETS)(
  'the deployed server passes every scenario of %s that is not in the table of exceptions',
  async (name, selection, count) => {
    const exceptions = EXCEPTIONS[name] ?? {};
    const outcome = await runSuite(programs.mcp_url, selection);
    expect(outcome.size).toBe(count);
    const lost = [...surprises(outcome, exceptions)];
    // The suite gives some answers a fixed time, which a busy machine may not have: those have another try, alone.
    const again = await Promise.all(
      lost.map(({ scenario }) => runSuite(programs.mcp_url, ['--scenario', scenario, '--spec-version', name])),
    );
    expect(again.flatMap((second) => [...surprises(second, exceptions)])).toEqual([]);
    const idle = Object.keys(exceptions).filter((scenario) => failuresOf(outcome.get(scenario)).length === 0);
    expect(idle).toEqual([]);
  },
  120_000,
);

test('the server passes the scenarios for skills once an administrator wrote one', async () => {
  await programs.api('PATCH', '/server/config', { skill: 'Call test_simple_text first.' });
  await programs.api('POST', '/deploy', {});
  for (const scenario of ['sep-2640-skills-enumeration', 'sep-2640-skills-manifest']) {
    const checks = [...(await runSuite(programs.mcp_url, ['--scenario', scenario])).values()].flat();
    const wanting = checks.filter(({ status }) => !['SUCCESS', 'SKIPPED', 'INFO'].includes(status));
    expect([scenario, wanting]).toEqual([scenario, []]);
    expect(checks.filter(({ status }) => status === 'SUCCESS').length).toBeGreaterThan(4);
  }
}, 60_000);

/** What failed and may not, and what may fail and did not. */
function* surprises(outcome: Outcome, exceptions: Readonly<Record<string, Exception>>) {
  for (const [scenario, checks] of outcome) {
    const failures = failuresOf(checks);
    const exception = exceptions[scenario];
    if (exception === undefined && failures.length > 0) yield { scenario, failures };
    if (exception?.checks === undefined) continue;
    const failed = [...new Set(failures.map(({ id }) => id))].toSorted();
    if (!Bun.deepEquals(failed, exception.checks)) yield { scenario, failures };
  }
}

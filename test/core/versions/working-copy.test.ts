import { expect, test } from 'bun:test';
import { createSourcePool } from '#core/sources/source-pool.ts';
import { createVersions } from '#core/versions/versions.ts';
import { readWorkingCopy } from '#core/versions/working-copy.ts';
import { testPlatform } from '#test/support/platform.ts';

test('a configuration without definitions is frozen once', async () => {
  const platform = await testPlatform();
  const app = { ...platform, ...createVersions(), sources: createSourcePool(platform.policy, platform.secrets) };
  const { tree, problems } = (await readWorkingCopy(app)).view.frozen();
  expect([tree.leaves.map(({ kind }) => kind), problems]).toEqual([['server'], []]);
  const { copy } = app.working_copy;
  expect((await readWorkingCopy(app)).view.frozen().tree.checksum).toBe(tree.checksum);
  expect(app.working_copy.copy).toBe(copy);
  await app.close();
});

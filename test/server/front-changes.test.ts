import { expect, test } from 'bun:test';
import { testApp } from '#test/support/app.ts';

test('a change of the domains counts for all requests after it, also for those that come at once', async () => {
  const t = await testApp();
  await t.signIn();
  await t.call('config.update', { ui_domain: 'ui.example.com' });
  for (const mcp_domain of ['a.example.com', 'b.example.com', 'c.example.com']) {
    await t.call('config.update', { mcp_domain });
    const ask = () => t.request('GET', '/api/v1/auth/status', { headers: { host: mcp_domain } });
    const answers = await Promise.all([ask(), ask(), ask()]);
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
  }
  await t.close();
});

import { expect } from 'bun:test';
import { checkDriftWhenDue } from '#core/deploy/checks/drift.ts';
import type { TestApp } from '#test/support/app.ts';

type Field = 'lint_off' | 'drift_check_minutes' | 'replay_samples';

/** What each setting of the checks of definitions does. */
export const checkEffects = (
  app: () => TestApp,
  patch: (body: object) => Promise<unknown>,
): Record<Field, () => Promise<void>> => ({
  async lint_off() {
    await patch({ lint_off: ['select-star'] });
    const { body } = await app().request('GET', '/api/v1/lint/rules');
    const off = (body['items'] as { rule: string; enabled: boolean }[]).filter(({ enabled }) => !enabled);
    expect(off.map(({ rule }) => rule)).toEqual(['select-star']);
    await patch({ lint_off: [] });
  },
  async drift_check_minutes() {
    const t = app();
    await t.request('POST', '/api/v1/deploy', { body: {} });
    await t.request('POST', '/api/v1/drift/check', { body: {} });
    await patch({ drift_check_minutes: 0 });
    t.advance(120_000);
    expect(await checkDriftWhenDue(t.app)).toBe(false);
    await patch({ drift_check_minutes: 2 });
    expect(await checkDriftWhenDue(t.app)).toBe(true);
    await patch({ drift_check_minutes: 60 });
  },
  async replay_samples() {
    const t = app();
    const replay = () => t.request('POST', '/api/v1/replay', { body: { version: 1 } });
    await t.request('POST', '/api/v1/deploy', { body: {} });
    expect((await replay()).status).toBe(409);
    await patch({ replay_samples: 10 });
    // Hosts follow what is deployed.
    expect((await replay()).status).toBe(409);
    await t.request('POST', '/api/v1/deploy', { body: {} });
    expect((await replay()).status).toBe(200);
    await patch({ replay_samples: 0 });
    await t.request('POST', '/api/v1/deploy', { body: {} });
  },
});

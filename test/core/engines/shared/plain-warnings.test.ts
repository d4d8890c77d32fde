import { expect, test } from 'bun:test';
import { plainWarnings } from '#core/engines/shared/tls.ts';

test('plain text is warned of, but not on the way to this machine', () => {
  for (const host of ['localhost', '127.0.0.1', '127.1.2.3', '::1', '[::1]']) expect(plainWarnings({ host })).toEqual([]);
  for (const host of ['10.0.0.5', 'db', 'localhost.example.com', '127.example.com', '::2', null])
    expect(plainWarnings({ host })).toEqual(['The connection is not encrypted.']);
});

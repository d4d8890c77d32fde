import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { fc } from '#test/support/chance.ts';
import { createKeyring, fingerprintOf, keyIdOf } from '#core/lib/secrets.ts';

const fingerprint = randomBytes(32);
const old_key = 'old-key-old-key-old-key-old-key-1';
const new_key = 'new-key-new-key-new-key-new-key-2';

test('what is sealed opens in its place and nowhere else', () => {
  const ring = createKeyring([old_key], fingerprint);
  fc.assert(
    fc.property(fc.string(), fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (plain, place, other) => {
      const sealed = ring.seal(plain, place);
      expect(ring.open(sealed, place)).toBe(plain);
      if (other !== place) expect(() => ring.open(sealed, other)).toThrow();
    }),
  );
});

test('a rotated ring reads what the old key sealed, says that it is stale, and writes with the new key', () => {
  const before = createKeyring([old_key], fingerprint);
  const after = createKeyring([new_key, old_key], fingerprint);
  const sealed = before.seal('hunter2', 'connection/1/password');
  expect(after.open(sealed, 'connection/1/password')).toBe('hunter2');
  expect(after.stale(sealed)).toBe(true);
  const again = after.seal('hunter2', 'connection/1/password');
  expect(after.stale(again)).toBe(false);
  expect(fingerprintOf(again)).toBe(fingerprintOf(sealed));
});

test('a lost key is named by its id and nothing of the secret is said', () => {
  const sealed = createKeyring([old_key], fingerprint).seal('hunter2', 'x');
  const ring = createKeyring([new_key], fingerprint);
  expect(() => ring.open(sealed, 'x')).toThrow(keyIdOf(old_key));
  expect(() => ring.open(sealed, 'x')).not.toThrow('hunter2');
});

test('a changed ciphertext does not open', () => {
  const ring = createKeyring([old_key], fingerprint);
  const sealed = ring.seal('hunter2', 'x');
  for (let index = sealed.lastIndexOf('.') + 1; index < sealed.length - 1; index++) {
    const changed = sealed.slice(0, index) + (sealed[index] === 'A' ? 'B' : 'A') + sealed.slice(index + 1);
    expect(() => ring.open(changed, 'x')).toThrow();
  }
});

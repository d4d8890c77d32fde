import { desc, eq } from 'drizzle-orm';
import { CompactSign, compactVerify, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import * as v from 'valibot';
import type { AuditHead } from '#core/contract/observe/audit.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { Db } from '#core/store/store.ts';
import type { Schema } from '#core/store/schema.ts';

type KeyRow = Schema['audit_keys']['$inferSelect'];

const ALGORITHM = 'ES256';
/** Keeps the signature from being taken for one over something else (RFC 8725 section 3.11). */
const TYPE = 'sluice-audit';

/** What a signature says of the chain, besides which installation it belongs to. */
export const Statement = v.variant('type', [
  v.object({ type: v.literal('head'), log: v.string(), seq: v.number(), hash: v.string(), at: v.string() }),
  v.object({ type: v.literal('start'), log: v.string(), seq: v.number(), hash: v.string(), at: v.string() }),
  v.object({
    type: v.literal('pruned'),
    log: v.string(),
    id: v.string(),
    kinds: v.array(v.string()),
    entries: v.number(),
    digest: v.string(),
    seq: v.number(),
    hash: v.string(),
    at: v.string(),
  }),
]);
export type Statement = v.InferOutput<typeof Statement>;
type Unsigned = Statement extends infer S ? (S extends Statement ? Omit<S, 'log'> : never) : never;

const pathOf = (kid: string): string => `audit_key/${kid}/private_key`;

/** Signs a statement with the newest key that this installation can open; stores nothing. */
export async function signStatement(app: Platform, tx: Db, id: string, statement: Unsigned): Promise<AuditHead> {
  const { kid, private_key } = await signingKey(app, tx);
  const payload = new TextEncoder().encode(JSON.stringify({ log: app.installation_id, ...statement }));
  const key = await importJWK(private_key, ALGORITHM);
  const jws = await new CompactSign(payload).setProtectedHeader({ alg: ALGORITHM, typ: TYPE, kid }).sign(key);
  const { type, seq, hash, at } = statement;
  return { id, type, seq, hash, at, kid, jws };
}

export interface Verifier {
  /** @returns null unless a key of this installation signed it. */
  read(jws: string): Promise<Statement | null>;
}

/**
 * Verifies with keys whose private part this installation can open: a row that somebody else put into the table has none, because
 * that takes SVC_ENCRYPTION_KEY.
 */
export async function createVerifier(app: Platform): Promise<Verifier> {
  const keys = new Map<string, JWK>();
  for (const row of await app.store.db.select().from(app.store.tables.audit_keys)) {
    const key = openKey(app, row);
    if (key !== null) keys.set(row.kid, publicPart(key));
  }
  return {
    async read(jws) {
      try {
        const { payload, protectedHeader } = await compactVerify(
          jws,
          ({ kid = '' }) => importJWK(keys.get(kid) ?? {}, ALGORITHM),
          { algorithms: [ALGORITHM] },
        );
        const statement = v.safeParse(Statement, JSON.parse(new TextDecoder().decode(payload)));
        if (protectedHeader.typ !== TYPE || !statement.success) return null;
        return statement.output.log === app.installation_id ? statement.output : null;
      } catch {
        return null;
      }
    },
  };
}

/** At a start: creates the key of a new installation, and seals keys with the first key of the ring. */
export async function prepareAuditKeys(app: Platform): Promise<void> {
  const { audit_keys } = app.store.tables;
  await app.store.write(async (tx) => {
    await signingKey(app, tx);
    for (const row of await tx.select().from(audit_keys)) {
      const key = app.keyring.stale(row.private_key.$sealed) ? openKey(app, row) : null;
      if (key === null) continue;
      const private_key = { $sealed: app.keyring.seal(JSON.stringify(key), pathOf(row.kid)) };
      await tx.update(audit_keys).set({ private_key }).where(eq(audit_keys.kid, row.kid));
    }
  });
}

/** Public keys, the newest first. */
export async function publicKeys(app: Platform): Promise<Record<string, unknown>[]> {
  const { audit_keys } = app.store.tables;
  const rows = await app.store.db.select().from(audit_keys).orderBy(desc(audit_keys.created_at));
  return rows.map(({ public_key }) => ({ ...public_key }));
}

async function signingKey(app: Platform, tx: Db): Promise<{ kid: string; private_key: JWK }> {
  const { audit_keys } = app.store.tables;
  for (const row of await tx.select().from(audit_keys).orderBy(desc(audit_keys.created_at))) {
    const private_key = openKey(app, row);
    if (private_key !== null) return { kid: row.kid, private_key };
  }
  const pair = await generateKeyPair(ALGORITHM, { extractable: true });
  const kid = await calculateJwkThumbprint(pair.publicKey);
  const private_key = await exportJWK(pair.privateKey);
  const public_key = { ...(await exportJWK(pair.publicKey)), kid, alg: ALGORITHM, use: 'sig' };
  const sealed = { $sealed: app.keyring.seal(JSON.stringify(private_key), pathOf(kid)) };
  await tx.insert(audit_keys).values({ kid, public_key, private_key: sealed, created_at: app.clock().toISOString() });
  return { kid, private_key };
}

/** Null: no key of SVC_ENCRYPTION_KEY opens it. A new key signs then, and the old signatures can no longer be checked here. */
function openKey({ keyring }: Platform, { kid, private_key }: KeyRow): JWK | null {
  try {
    return JSON.parse(keyring.open(private_key.$sealed, pathOf(kid))) as JWK;
  } catch {
    return null;
  }
}

const publicPart = ({ d: _, ...rest }: JWK): JWK => rest;

import { asc, desc, eq, gt, ne } from 'drizzle-orm';
import type { AuditReport } from '#core/contract/observe/audit.ts';
import type { Platform } from '#core/platform/platform.ts';
import { type AuditRow, digestOf, hashOf, NO_HASH } from './chain.ts';
import { createVerifier, type Statement, type Verifier } from './heads.ts';

const PAGE = 1_000;
/** Stored heads that are compared. Anyone who can rewrite entries can delete these too, so older ones say little. */
const STORED_HEADS = 1_000;
const TRIES = 3;

interface Fault {
  readonly seq: number;
  readonly reason: string;
}

/** The facts that signatures fix, to compare with the entries. */
interface Signed {
  /** Hashes by number, of heads that are stored here or were given. */
  readonly heads: Map<number, { readonly hash: string; readonly from: 'here' | 'elsewhere' }>;
  /** Where the entries that are left begin. */
  readonly start: { readonly seq: number; readonly hash: string } | null;
  readonly pruned: ReadonlyMap<string, Extract<Statement, { type: 'pruned' }>>;
}

/**
 * Checks every entry against its hash, the entry before, and signatures. Someone who can write to the database can compute the
 * hashes anew, so only heads that left it (`given`) show that entries were rewritten or cut off.
 */
export async function verifyAudit(app: Platform, given: readonly string[] = []): Promise<AuditReport> {
  for (let left = TRIES; ; left--) {
    const before = await statementIds(app);
    const found = await verifyOnce(app, given);
    // Old entries may have been deleted while it read.
    if (found.ok || left === 1 || before === (await statementIds(app))) return found;
  }
}

async function statementIds({ store }: Platform): Promise<string> {
  const { audit_heads: heads } = store.tables;
  const rows = await store.db.select({ id: heads.id, jws: heads.jws }).from(heads).where(ne(heads.type, 'head'));
  return rows.map(({ id, jws }) => `${id} ${jws}`).join();
}

async function verifyOnce(app: Platform, given: readonly string[]): Promise<AuditReport> {
  const verifier = await createVerifier(app);
  const read = await readSigned(app, verifier, given);
  if ('reason' in read) return report({ checked: 0, pruned: 0, first: null, last: null }, 0, read);
  const progress = { checked: 0, pruned: 0, first: null as number | null, last: null as number | null };
  const blanks = new Map<string, string[]>();
  let previous = { seq: read.start?.seq ?? 0, hash: read.start?.hash ?? NO_HASH };
  let compared = 0;
  for (let after = -1; ;) {
    const page = await pageAfter(app, after);
    for (const row of page) {
      const fault = faultOf(row, previous, read);
      if (fault !== null) return report(progress, compared, fault);
      if (row.pruned_by !== null) {
        const hashes = blanks.get(row.pruned_by);
        if (hashes === undefined) blanks.set(row.pruned_by, [row.hash]);
        else hashes.push(row.hash);
        progress.pruned++;
      }
      progress.first ??= row.seq;
      progress.last = row.seq;
      progress.checked++;
      if (read.heads.has(row.seq)) compared++;
      previous = { seq: row.seq, hash: row.hash };
    }
    if (page.length < PAGE) break;
    after = page.at(-1)?.seq ?? after;
  }
  return report(progress, compared, endFault(previous, read) ?? blankFault(blanks, read));
}

async function pageAfter({ store }: Platform, seq: number): Promise<AuditRow[]> {
  const { audit_entries: entries } = store.tables;
  return store.db.select().from(entries).where(gt(entries.seq, seq)).orderBy(asc(entries.seq)).limit(PAGE);
}

const report = (
  { checked, pruned, first, last }: { checked: number; pruned: number; first: number | null; last: number | null },
  heads: number,
  fault: Fault | null,
): AuditReport => ({
  ok: fault === null,
  entries: checked,
  pruned,
  heads,
  first_seq: first,
  last_seq: last,
  ...(fault !== null && { first_bad: fault.seq, reason: fault.reason }),
});

/** Reads what signatures say. A signature of another key is a fault. */
async function readSigned(app: Platform, verifier: Verifier, given: readonly string[]): Promise<Signed | Fault> {
  const { audit_heads } = app.store.tables;
  const heads: Signed['heads'] = new Map();
  const pruned = new Map<string, Extract<Statement, { type: 'pruned' }>>();
  let start: Signed['start'] = null;
  const [statements, newest] = await Promise.all([
    app.store.db.select().from(audit_heads).where(ne(audit_heads.type, 'head')),
    app.store.db
      .select()
      .from(audit_heads)
      .where(eq(audit_heads.type, 'head'))
      .orderBy(desc(audit_heads.seq))
      .limit(STORED_HEADS),
  ]);
  for (const row of [...statements, ...newest]) {
    const statement = await verifier.read(row.jws);
    if (statement === null || statement.seq !== row.seq || statement.type !== row.type)
      return { seq: row.seq, reason: `The signature of the stored head of entry ${row.seq} is not one of this installation.` };
    if (statement.type === 'pruned') pruned.set(statement.id, statement);
    else if (statement.type === 'head') heads.set(statement.seq, { hash: statement.hash, from: 'here' });
    else if (start === null || statement.seq > start.seq) start = statement;
  }
  for (const jws of given) {
    const statement = await verifier.read(jws);
    if (statement === null)
      return { seq: 0, reason: 'A given head was not signed by this installation, or by a key that it no longer has.' };
    const known = heads.get(statement.seq);
    if (known?.from === 'elsewhere' && known.hash !== statement.hash)
      return { seq: statement.seq, reason: `Entry ${statement.seq} was signed twice, with different hashes.` };
    if (statement.type !== 'pruned') heads.set(statement.seq, { hash: statement.hash, from: 'elsewhere' });
  }
  return { heads, start, pruned };
}

function faultOf(row: AuditRow, previous: { seq: number; hash: string }, { heads, pruned }: Signed): Fault | null {
  const { seq, hash } = row;
  if (seq !== previous.seq + 1) {
    const reason =
      seq <= previous.seq
        ? `Entry ${seq} should have been deleted with those before it, according to a signed statement.`
        : `Entry ${previous.seq + 1} is missing: the next one is ${seq}.`;
    return { seq: seq <= previous.seq ? seq : previous.seq + 1, reason };
  }
  if (row.pruned_by === null) {
    if (hashOf(row, previous.hash) !== hash)
      return { seq, reason: `Entry ${seq}, or the one before it, is not as it was written.` };
  } else if (!pruned.has(row.pruned_by)) {
    return { seq, reason: `The contents of entry ${seq} are gone, and no signed statement says so.` };
  }
  const head = heads.get(seq);
  if (head !== undefined && head.hash !== hash) {
    const where = head.from === 'here' ? 'a stored head' : 'a head that was stored elsewhere';
    return { seq, reason: `Entry ${seq} has another hash than in ${where}: it or an earlier one was rewritten.` };
  }
  return null;
}

/** Signed entries that are not there. Those before the start were deleted by a signed statement. */
function endFault(last: { seq: number }, { heads, start }: Signed): Fault | null {
  const highest = [...heads.keys()].reduce((most, seq) => Math.max(most, seq), start?.seq ?? 0);
  if (highest <= last.seq) return null;
  const seq = last.seq + 1;
  return { seq, reason: `Entries ${seq} to ${highest} are missing: a signed head says that they were written.` };
}

/** Whether the entries without contents are exactly those that a signed statement names. */
function blankFault(blanks: ReadonlyMap<string, readonly string[]>, { pruned }: Signed): Fault | null {
  for (const [id, statement] of pruned) {
    const hashes = blanks.get(id) ?? [];
    if (hashes.length === statement.entries && digestOf(hashes) === statement.digest) continue;
    return { seq: statement.seq, reason: 'Other entries lost their contents than a signed statement says.' };
  }
  return null;
}

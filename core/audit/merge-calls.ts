import type { AuditDraft } from '#core/store/tables/audit.ts';

/** Calls further apart than this are not one entry. */
const TOGETHER_MS = 10_000;

/** Makes one entry of the calls of several reports that differ in nothing but time, number and rows. The order stays. */
export function mergeCalls(drafts: readonly AuditDraft[]): AuditDraft[] {
  const merged: AuditDraft[] = [];
  const indexes = new Map<string, number>();
  for (const draft of drafts) {
    if (draft.kind !== 'call' || typeof draft.detail['calls'] !== 'number') {
      merged.push(draft);
      continue;
    }
    const key = keyOf(draft);
    const index = indexes.get(key);
    const known = index === undefined ? undefined : merged[index];
    if (known === undefined || index === undefined || span(known, draft) >= TOGETHER_MS) {
      indexes.set(key, merged.push(draft) - 1);
      continue;
    }
    merged[index] = sum(known, draft);
  }
  return merged;
}

function keyOf({ actor, entity, outcome, detail }: AuditDraft): string {
  const { calls: _, rows: __, first_at: ___, ...same } = detail;
  return JSON.stringify([actor, entity, outcome, same]);
}

const firstOf = ({ at, detail }: AuditDraft): string => (typeof detail['first_at'] === 'string' ? detail['first_at'] : at);

const span = (a: AuditDraft, b: AuditDraft): number =>
  Math.abs(Math.max(Date.parse(a.at), Date.parse(b.at)) - Math.min(Date.parse(firstOf(a)), Date.parse(firstOf(b))));

function sum(a: AuditDraft, b: AuditDraft): AuditDraft {
  const add = (name: string): number => Number(a.detail[name] ?? 0) + Number(b.detail[name] ?? 0);
  const [first_at, other] = [firstOf(a), firstOf(b)].toSorted();
  const at = a.at > b.at ? a.at : b.at;
  return {
    ...a,
    at,
    detail: {
      ...a.detail,
      calls: add('calls'),
      ...('rows' in a.detail && { rows: add('rows') }),
      ...(first_at !== undefined && other !== undefined && first_at !== at && { first_at }),
    },
  };
}

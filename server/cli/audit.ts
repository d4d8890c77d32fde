import { readFile } from 'node:fs/promises';
import { exportLines } from '#core/audit/export.ts';
import { verifyAudit } from '#core/audit/verify.ts';
import { chainNow } from '#core/audit/writer.ts';
import { AppError } from '#core/errors.ts';
import { auditOf, enterAudit } from '#core/records/audit-log.ts';
import { type Command, UsageError } from './command.ts';
import { operatorCall, withApp } from './open.ts';

const USAGE = 'audit verify [--heads <file>] | audit export [--format jsonl|ocsf]';
const JWS = /[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}/g;

export const audit: Command = {
  usage: USAGE,
  summary: 'Check the audit log, also against heads that were stored elsewhere; write it to standard output',
  words: 1,
  options: { heads: { type: 'string' }, format: { type: 'string' } },
  run({ positionals, values }, terminal) {
    const { heads, format = 'jsonl' } = values;
    if (positionals[0] === 'verify') {
      return withApp(terminal, async (app) => {
        const given = typeof heads === 'string' ? await readHeads(heads) : [];
        await chainNow(app);
        const { ok, entries, pruned, heads: compared, first_seq, last_seq, first_bad, reason } = await verifyAudit(app, given);
        const range = first_seq === null ? '' : ` (${first_seq} to ${last_seq})`;
        terminal.out(`Entries checked: ${entries}${range}, ${pruned} of them without contents. Heads compared: ${compared}.\n`);
        if (ok) terminal.out('The audit log is as it was written.\n');
        else terminal.err(`First bad entry: ${first_bad}. ${reason}\n`);
        if (ok && given.length === 0)
          terminal.out('Without --heads, entries that were rewritten or cut off together with their heads are not noticed.\n');
        return ok ? 0 : 2;
      });
    }
    if (positionals[0] !== 'export' || heads !== undefined) throw new UsageError(`Usage: sluice ${USAGE}`);
    if (format !== 'jsonl' && format !== 'ocsf') throw new UsageError('--format must be jsonl or ocsf.');
    return withApp(terminal, async (app) => {
      const draft = { kind: 'export', outcome: 'ok', detail: { operation: 'audit.export', format } } as const;
      await app.store.write((tx) => enterAudit(app, tx, [auditOf({ ...operatorCall(), app }, draft)]));
      await chainNow(app);
      for await (const lines of exportLines(app, format)) terminal.out(lines);
      return 0;
    });
  },
};

/** Heads in any text: deliveries of a webhook, lines of syslog, answers of the API. */
async function readHeads(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new AppError('not_found', `The file ${file} cannot be read.`, { cause });
  });
  const found = [...new Set(text.match(JWS))];
  if (found.length === 0) throw new AppError('invalid', `${file} contains no signed heads.`);
  return found;
}

import { eq } from 'drizzle-orm';
import { invalidField } from '#core/errors.ts';
import type { Handlers } from '#core/context/context.ts';
import { PROOF_MS } from '#core/context/proof.ts';
import { auditOf, enterAudit } from '#core/records/audit-log.ts';
import { currentPerson, refuseChanged, requirePassword } from './account.ts';
import { countAttempt, noteRefusal } from './attempts.ts';
import { spendCode, wrongCode } from './two-factor.ts';

/** A person proves again who they are. Failures count like those of a sign-in. */
export const proveHandlers: Pick<Handlers, 'auth.prove'> = {
  'auth.prove': async (context, { password, code, is_recovery }) => {
    const { app, actor } = context;
    const { sessions } = app.store.tables;
    if ((password === undefined) === (code === undefined)) {
      throw invalidField('password', 'Send either password or code.');
    }
    const person = await currentPerson(context);
    if (password !== undefined && person.password_hash === null) {
      throw invalidField('password', 'Your account has no password. Send a code of your second factor, or sign in again.');
    }
    if (code !== undefined && !person.totp_enabled) {
      throw invalidField('code', 'Your account has no second factor. Send your password, or sign in again.');
    }
    return noteRefusal(context, person.username, async () => {
      const attempt = await countAttempt(context, person.username);
      if (password !== undefined) await requirePassword(person, password, 'password');
      const now = app.clock();
      const is_proved = await app.store.write(async (tx) => {
        await refuseChanged(context, tx, person);
        if (code !== undefined && !(await spendCode(context, tx, person, code, is_recovery))) return false;
        await tx
          .update(sessions)
          .set({ proved_at: now.toISOString() })
          .where(eq(sessions.id, actor?.session_id ?? ''));
        const detail = { step: 'proof', session: actor?.session_id ?? null, by: code === undefined ? 'password' : 'code' };
        await enterAudit(app, tx, [auditOf(context, { kind: 'sign_in', outcome: 'ok', detail })]);
        return true;
      });
      if (!is_proved) throw wrongCode();
      await attempt.forgive();
      return { proved_until: new Date(now.getTime() + PROOF_MS).toISOString() };
    });
  },
};

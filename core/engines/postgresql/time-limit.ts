import { AppError } from '#core/errors.ts';
import type { ServerLimit } from '../shared/source.ts';
import { textOf } from '../shared/rows.ts';
import type { Row } from '#core/lib/sql/result.ts';

interface Limited {
  /** The time limit of the account, the database or the server in milliseconds; 0: no limit. */
  readonly limit_ms: number;
}

/** The time limit of a statement: that of its call, or that of its account if it is lower. */
export const timeOf = ({ limit_ms }: Limited, timeout_ms: number): number =>
  limit_ms > 0 && limit_ms < timeout_ms ? limit_ms : timeout_ms;

export const lateAfter = ({ limit_ms }: Limited, timeout_ms: number): AppError =>
  new AppError(
    'timeout',
    timeOf({ limit_ms }, timeout_ms) === timeout_ms
      ? `The statement did not finish within ${timeout_ms} ms and was stopped.`
      : `The statement reached the time limit that the server has for this account (statement_timeout: ${limit_ms / 1_000} s) and was stopped.`,
  );

/** The time limits of the account and where they are set. Read from `reset_val`, because the session overrides the setting. */
export const LIMITS_SQL = `
select s.name, s.reset_val::int8 as ms, coalesce((
    select case when d.setrole = 0 then 'database' else 'account' end
    from pg_catalog.pg_db_role_setting d
    where d.setrole in (0, (select oid from pg_catalog.pg_roles where rolname = session_user))
      and d.setdatabase in (0, (select oid from pg_catalog.pg_database where datname = current_database()))
      and exists (select from unnest(d.setconfig) as one where one like s.name || '=%')
    order by d.setrole = 0, d.setdatabase = 0 limit 1), 'server') as source
from pg_catalog.pg_settings s
where s.name in ('statement_timeout', 'transaction_timeout') and s.reset_val <> '0'
order by s.name`;

const SOURCES = ['server', 'database', 'account'] as const;

export const toLimit = ({ name, ms, source }: Row): ServerLimit => ({
  name: textOf(name),
  value: `${Number(ms) / 1_000} s`,
  source: SOURCES.find((one) => one === source) ?? 'server',
});

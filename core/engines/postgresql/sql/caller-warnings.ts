import { textOf } from '#core/engines/shared/rows.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { Row } from '#core/lib/sql/result.ts';
import type { Question } from '../catalogue.ts';

/** Warnings about a database that receives values of each caller but does not isolate the callers' rows. */

const SHOWN = 5;
const USER_SCHEMAS = "n.nspname !~ '^pg_' and n.nspname <> 'information_schema'";

/**
 * Returns rows with a problem and its object: roles that bypass policies, tables whose owner bypasses them, views that read with
 * their owner's rights, roles that the account cannot assume.
 */
export const callerQuestion = ({ session_role = null }: ConnectionSettings): Question => ({
  text: `
select 'superuser' as fault, rolname::text as name from pg_catalog.pg_roles where rolsuper and (rolname = current_user or rolname = any($1::text[]))
union all
select 'bypass', rolname::text from pg_catalog.pg_roles
where rolbypassrls and not rolsuper and (rolname = current_user or rolname = any($1::text[]))
union all
select 'unforced', format('%I.%I', n.nspname, c.relname) from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p') and c.relrowsecurity and not c.relforcerowsecurity and ${USER_SCHEMAS}
  and exists (
    select from pg_catalog.pg_roles r
    where (r.rolname = current_user or r.rolname = any($1::text[])) and pg_has_role(r.oid, c.relowner, 'usage') and not r.rolsuper)
union all
select distinct 'view', format('%I.%I', n.nspname, c.relname) from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_rewrite w on w.ev_class = c.oid
join pg_catalog.pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid and d.refclassid = 'pg_class'::regclass
join pg_catalog.pg_class t on t.oid = d.refobjid and t.relrowsecurity
where c.relkind = 'v' and ${USER_SCHEMAS}
  and not coalesce(array_to_string(c.reloptions, ',') ~* 'security_invoker=(true|on|1|yes)', false)
union all
select 'missing', wanted.name from unnest($1::text[]) as wanted (name)
where not exists (select from pg_catalog.pg_roles r where r.rolname = wanted.name and pg_has_role(current_user, r.oid, 'member'))
order by 1, 2`,
  values: [session_role?.allow ?? []],
  types: [{ array: 'string' }],
});

const SENTENCES: Readonly<Record<string, (names: string) => string>> = {
  superuser: (names) => `No policy holds for superusers: ${names}. Use an account without that right.`,
  bypass: (names) => `No policy holds for roles with BYPASSRLS: ${names}. Use an account without that right.`,
  unforced: (names) =>
    `The account owns tables whose policies do not hold for their owner: ${names}. Run ALTER TABLE … FORCE ROW LEVEL SECURITY, or use another account.`,
  view: (names) =>
    `Views read tables with policies as the owner of the view: ${names}. Run ALTER VIEW … SET (security_invoker = true) on PostgreSQL 15 or later.`,
  missing: (names) => `The account cannot take these roles: ${names}. Run GRANT … TO the account.`,
};

export const callerWarnings = (rows: readonly Row[]): string[] =>
  Object.entries(SENTENCES).flatMap(([fault, sentence]) => {
    const names = rows.filter((row) => row['fault'] === fault).map(({ name }) => textOf(name));
    if (names.length === 0) return [];
    const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : '';
    return [sentence(`${names.slice(0, SHOWN).join(', ')}${more}`)];
  });

import { type Words, wordsOf } from '#core/engines/shared/trust.ts';

/**
 * Objects of a database that can run code when a statement names them. A statement that names none of them, and only uses
 * functions and operators of the classifier's closed lists, only runs PostgreSQL's built-in code.
 */
export interface Untrusted {
  /** Schema and name of relations that are not plain tables. */
  readonly relations: readonly (readonly [string, string])[];
  readonly functions: readonly string[];
  readonly operators: readonly string[];
  /** Number of casts with functions, which a text need not name. */
  readonly casts: number;
  /** Schemas in which unqualified names are looked up. */
  readonly path: readonly string[];
}

/** Operators that keywords use: IN, LIKE, BETWEEN, CASE, NULLIF, JOIN … USING and others. */
const UNWRITTEN: ReadonlySet<string> = new Set([
  '=',
  '<>',
  '<',
  '>',
  '<=',
  '>=',
  '~~',
  '!~~',
  '~~*',
  '!~~*',
  '~',
  '!~',
  '~*',
  '!~*',
]);

export function namesUntrusted(text: string, untrusted: Untrusted): boolean {
  // A name can be written with Unicode escapes.
  if (untrusted.casts > 0 || /u&/i.test(text)) return true;
  const words = wordsOf(text);
  const { functions, operators, relations } = untrusted;
  return (
    functions.some((name) => words.mentions(name)) ||
    operators.some((name) => UNWRITTEN.has(name) || words.contains(name)) ||
    relations.some(([schema, name]) => words.mentions(name) && isFound(schema, words, untrusted))
  );
}

const isFound = (schema: string, words: Words, { path }: Untrusted): boolean => path.includes(schema) || words.mentions(schema);

/** Objects with lower oids were created with the cluster (FirstNormalObjectId). */
const BUILT_IN = 16_384;
/**
 * A function that is built in, or that is not volatile and belongs to an extension, whose files the administrator of the machine
 * installed.
 */
const HARMLESS = `p.oid < ${BUILT_IN} or (p.provolatile <> 'v' and exists (
    select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'))`;

/**
 * Column types whose values are read and compared by built-in code: built-in types, enumerations, base types of extensions, and
 * arrays of these.
 */
const PLAIN_TYPES = `
  select t.oid from pg_type t left join pg_type e on e.oid = t.typelem and e.typarray = t.oid
  where (t.oid < ${BUILT_IN} and t.typtype <> 'd') or (coalesce(e.oid, t.oid) < ${BUILT_IN} and coalesce(e.typtype, t.typtype) <> 'd')
    or coalesce(e.typtype, t.typtype) = 'e' or (coalesce(e.typtype, t.typtype) = 'b' and exists (
      select from pg_depend d where d.classid = 'pg_type'::regclass and d.objid = coalesce(e.oid, t.oid) and d.deptype = 'e'))`;

/**
 * Tables whose policies do more than compare columns with settings: they call functions that are not built in or not harmless, or
 * read other relations. Built-in code evaluates all other policies.
 */
const POLICED = `
  select p.polrelid from pg_policy p where exists (
    select from using_untrusted u where u.classid = 'pg_policy'::regclass and u.objid = p.oid
  ) or exists (
    select from pg_depend d where d.classid = 'pg_policy'::regclass and d.objid = p.oid
      and d.refclassid = 'pg_class'::regclass and d.refobjid <> p.polrelid
  ) or exists (
    select from regexp_matches(concat(p.polqual::text, p.polwithcheck::text), ':(?:funcid|opfuncid|aggfnoid|winfnoid) (\\d+)', 'g') as m (id)
    join pg_proc f on f.oid = m.id[1]::oid where f.provolatile = 'v' or f.proname ~ '_to_xml'
  )`;

/**
 * Returns one JSON document. Names are only looked up in pg_catalog, so that no user-defined object is used; the search path of
 * the account is saved first.
 */
const UNTRUSTED = `
with recursive untrusted_functions as (
  select p.oid, p.proname from pg_proc p where p.oid >= ${BUILT_IN} and not (${HARMLESS})
), using_untrusted as (
  select d.classid, d.objid from pg_depend d join untrusted_functions s on s.oid = d.refobjid where d.refclassid = 'pg_proc'::regclass
  union select d.classid, d.objid from pg_depend d join pg_operator o on o.oid = d.refobjid join untrusted_functions s on s.oid = o.oprcode
    where d.refclassid = 'pg_operator'::regclass
), policed as (${POLICED}
), found as (
  select c.oid from pg_class c where c.oid >= ${BUILT_IN} and c.relkind not in ('i', 'I', 't') and (
    c.relkind not in ('r', 'p', 'm', 'S') or (c.relhasrules and c.relkind <> 'm'))
  union select polrelid from policed
  union select objid from using_untrusted where classid = 'pg_class'::regclass
  union select i.indrelid from using_untrusted u join pg_index i on i.indexrelid = u.objid where u.classid = 'pg_class'::regclass
  union select k.conrelid from using_untrusted u join pg_constraint k on k.oid = u.objid where u.classid = 'pg_constraint'::regclass
  union select e.stxrelid from using_untrusted u join pg_statistic_ext e on e.oid = u.objid
    where u.classid = 'pg_statistic_ext'::regclass
  union select a.attrelid from pg_attribute a where a.attrelid >= ${BUILT_IN} and a.attnum > 0 and not a.attisdropped
    and (a.attgenerated = 'v' or a.atttypid not in (${PLAIN_TYPES}))
), relations as (
  select oid from found union select i.inhparent from pg_inherits i join relations r on r.oid = i.inhrelid
), answer as (select json_build_object(
  'path', current_setting('sluice.path')::json,
  'relations', (
    select coalesce(json_agg(json_build_array(n.nspname, c.relname) order by c.oid), '[]')
    from relations r join pg_class c on c.oid = r.oid join pg_namespace n on n.oid = c.relnamespace
    where c.relkind not in ('i', 'I', 't', 'c') and c.relpersistence <> 't'),
  'functions', (select coalesce(json_agg(distinct proname), '[]') from untrusted_functions),
  'operators', (select coalesce(json_agg(distinct o.oprname), '[]') from pg_operator o join untrusted_functions s on s.oid = o.oprcode),
  'casts', (select count(*) from pg_cast c join untrusted_functions s on s.oid = c.castfunc))::text as content)`;

/** Characters of a hexadecimal MD5. */
const DIGEST = 32;
/** Enough for the names of tens of thousands of functions. */
export const UNTRUSTED_BYTES = 8 * 1024 * 1024;

/**
 * Runs in one message and one transaction. The answer is an MD5 and its JSON document; it is empty when it equals the answer
 * `before`.
 */
export function untrustedSql(before: string | null): string {
  const digest = before?.slice(0, DIGEST) ?? '';
  if (!/^[0-9a-f]*$/.test(digest)) throw new Error('The answer does not begin with an MD5.');
  return `begin read only;
select pg_catalog.set_config('sluice.path', pg_catalog.array_to_json(pg_catalog.current_schemas(true))::text, true);
set local statement_timeout = 10000;
set local search_path = pg_catalog, pg_temp;
${UNTRUSTED}
select case when md5(content) = '${digest}' then '' else md5(content) || content end from answer;
rollback`;
}

export const parseUntrusted = (answer: string): Untrusted => JSON.parse(answer.slice(DIGEST)) as Untrusted;

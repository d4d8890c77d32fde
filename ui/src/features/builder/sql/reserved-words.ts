/** Words that at least one database reserves; as names they need quotes everywhere. */
export const RESERVED: ReadonlySet<string> = new Set(
  `accessible add all alter always analyse analyze and anti any array as asc asensitive asof asymmetric at authorization autoincrement before begin
   between bigint binary bit blob boolean both by call cascade case cast change char character check coalesce collate collation column columns
   commit concurrently condition constraint continue convert create cross cube cume_dist current_catalog current_date current_role
   current_schema current_time current_timestamp current_user cursor database databases day_hour day_microsecond day_minute day_second dec
   decimal declare default deferrable delayed delete dense_rank desc describe deterministic distinct distinctrow div do double drop dual each
   else elseif empty enclosed end escape escaped except exists exit explain extract false fetch final first_value float float4 float8 for force
   foreign format freeze from full fulltext function general generated get glob global grant greatest group grouping groups having
   high_priority hour_microsecond hour_minute hour_second if ignore ilike in index infile initially inner inout insensitive insert int int1
   int2 int3 int4 int8 integer intersect interval into io_after_gtids io_before_gtids is isnull iterate join json_table key keys kill lag
   lambda last_value lateral lead leading least leave left like limit linear lines load local localtime localtimestamp lock long longblob
   longtext loop low_priority map master_bind master_ssl_verify_server_cert match maxvalue mediumblob mediumint mediumtext middleint
   minute_microsecond minute_second mod modifies national natural nchar no_write_to_binlog none normalize not nothing notnull nth_value ntile
   null nullif numeric of offset on only optimize optimizer_costs option optionally or order out outer outfile over overlaps overlay parallel
   partition percent_rank pivot pivot_longer pivot_wider placing position positional precision prewhere primary procedure purge qualify range
   rank read read_write reads real recursive references regexp release rename repeat replace require resignal restrict return returning revoke
   right rlike rollback row row_number rows sample schema schemas second_microsecond select semi sensitive separator session_user set setof settings
   show signal similar smallint some spatial specific sql sql_big_result sql_calc_found_rows sql_small_result sqlexception sqlstate sqlwarning
   ssl starting stored straight_join struct substring summarize symmetric system table tablesample terminated then time timestamp tinyblob
   tinyint tinytext to top trailing transaction treat trigger trim true try_cast undo union unique unlock unpivot unsigned update usage use user
   using utc_date utc_time utc_timestamp values varbinary varchar varcharacter variadic varying verbose virtual when where while window with
   write xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable xor year_month
   zerofill`.split(/\s+/),
);

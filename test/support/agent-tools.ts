/** Tools of the second edition. */
export const ADDED_TOOLS =
  'list_toolsets list_toolset_members create_toolset update_toolset delete_toolset list_tests create_test update_test delete_test run_tests get_drift list_pending_changes promote_canary abort_canary list_versions restore_version list_proposals get_proposal rebase_proposal comment_on_proposal get_call list_sessions get_session list_notices get_insights explain_sql'.split(
    ' ',
  );

/** Specification 4.4, and what was added to it. */
export const SPECIFIED_TOOLS = `
list_connections get_connection create_connection update_connection delete_connection test_connection list_tables list_columns
list_tools get_tool create_tool create_tools_batch update_tool delete_tool duplicate_tool preview_sql
list_resources get_resource create_resource update_resource delete_resource
list_prompts get_prompt create_prompt update_prompt delete_prompt
deploy_server stop_server get_deploy_status
export_config import_config
list_history get_entity_history rollback
get_metrics_stats get_metrics_timeseries get_queue_metrics
get_server_config update_server_config get_global_variables set_global_variables update_global_variables get_server_health get_generated_code
get_flow_layout
${ADDED_TOOLS.join(' ')}
`
  .trim()
  .split(/\s+/);

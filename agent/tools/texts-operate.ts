import type { ToolText } from './texts.ts';

/** Texts about deploying, transferring, undoing, monitoring and the settings of the server. */
export const OPERATE = {
  deploy_server: {
    title: 'Deploy',
    effect: 'overwrites',
    description:
      'Deploys the working copy: MCP clients see it at once. Use list_pending_changes, then dry_run true: it checks every statement, changes nothing and says in plan what the deploy would do. If anything is invalid or a gate blocks it, the error lists every problem and the current version stays live; allow passes gates that a person accepted, never tests. canary serves it to a share of callers first; get_deploy_status compares both, promote_canary or abort_canary ends it early. Then call get_server_health. Example: {"note":"Order tools"}.',
  },
  stop_server: {
    title: 'Stop serving',
    effect: 'removes',
    description:
      'Stops the MCP server: new calls are rejected, running ones get 10 seconds. Use it only if the person asked for it. The configuration is kept, and deploy_server starts the server again. No arguments: {}.',
  },
  list_pending_changes: {
    title: 'List undeployed changes',
    effect: 'reads',
    description:
      'Lists what the next deploy will change: names, changed fields, risks, and why clients may break. Use it before deploy_server, and pass it checksum so that nothing else is deployed. values true adds old and new values. 50 per page by default (limit, at most 500). Example: {"values":true}.',
  },
  get_deploy_status: {
    title: 'Deployment status',
    effect: 'reads',
    description:
      'Returns the status, the deployed version, how many changes are not deployed yet (list_pending_changes), why the last deploy failed, and the canary. Use it before and after a deploy. No arguments: {}.',
  },
  promote_canary: {
    title: 'Promote the canary',
    effect: 'overwrites',
    description:
      'Serves the running canary to every caller, as a new version. Use it only if the person asked; the canary promotes itself at its end. Compare both sides in canary of get_deploy_status first. allow passes gates that a person accepted. Example: {"note":"No errors"}.',
  },
  abort_canary: {
    title: 'Abort the canary',
    effect: 'removes',
    description:
      'Ends the running canary: its callers get the live version again, and the working copy stays as it is. Use it if get_deploy_status shows that the canary fails more often or is slower. Example: {"reason":"Refunds fail"}.',
  },
  list_versions: {
    title: 'List deployed versions',
    effect: 'reads',
    description:
      'Lists deployed versions, newest first, with who deployed them and why. Use it to find the number for restore_version or get_generated_code. 50 per page by default (limit, at most 100). Example: {"limit":10}.',
  },
  restore_version: {
    title: 'Restore a version',
    effect: 'overwrites',
    repeats: true,
    description:
      'Serves an earlier version from list_versions at once, exactly as it was. The working copy stays as it is, so the next deploy_server would bring the newer definitions back: to undo changes of records use rollback. allow passes gates that a person accepted, never tests. Example: {"version":3,"note":"Version 4 is slow"}.',
  },
  export_config: {
    title: 'Export the configuration',
    effect: 'reads',
    description:
      'Returns the whole configuration, toolsets and tests included, as one document without ids and secrets. It is large: use get_flow_layout for an overview. Use it as data for import_config elsewhere. No arguments: {}.',
  },
  import_config: {
    title: 'Import a configuration',
    effect: 'adds',
    description:
      'Adds the contents of an export, all or nothing; existing names are left unchanged. Call it with dry_run true first and read errors, needs_secrets and checks (lint findings and test results of what would change). Exports contain no secrets: set them with update_connection. Settings are not imported. To undo it, pass batch_id of the answer to rollback. At most 4 MiB. Then call deploy_server. Example: {"dry_run":true,"data":{"format":"sluice/1","tools":[]}}.',
  },
  list_history: {
    title: 'List changes',
    effect: 'reads',
    description:
      'Lists all changes, newest first, with who made them and what differs, long values cut to the difference. details true adds whole values and the record. Use it to find the history_id for rollback. 20 per page by default (limit, at most 100); filters: actor, entity_type (as in get_entity_history), entity_id, action (create, update, delete, rollback, import, deploy, blocked). Example: {"entity_type":"tool","action":"delete"}.',
  },
  get_entity_history: {
    title: 'Changes of one record',
    effect: 'reads',
    description:
      'Lists the changes of one record, newest first, even of a deleted one (by id), long values cut to the difference; details true adds whole values and the record. Use it before rollback. entity_type is connection, tool, resource, prompt, toolset, test, server_config, snapshot or file. 20 per page by default (limit, at most 100). Example: {"entity_type":"tool","entity_id":"find_orders"}.',
  },
  rollback: {
    title: 'Undo a change',
    effect: 'overwrites',
    repeats: true,
    description:
      'Restores the state before a history entry: what was deleted comes back with what went with it, what was created is deleted with what belongs to it, an import or a rollback is undone completely. history_id is the id of an entry, from list_history or an answer, or a batch_id. First use dry_run true: cascaded lists what is deleted besides. Later changes of the record are overwritten. For deploys use restore_version. Then call deploy_server. Example: {"history_id":"0197…","dry_run":true}.',
  },
  get_metrics_stats: {
    title: 'Usage of tools',
    effect: 'reads',
    description:
      'Returns calls, errors and durations of every tool, resource and prompt that was called in a period of 1h, 6h, 24h (the default) or 7d, or from since until until (at most 30 days ago). by client, person or token also counts each caller; client, person, token and connection_id count only those calls; compare adds the time before as previous. Use it to find slow or failing tools, then get_metrics_timeseries. Example: {"period":"24h","by":"client"}.',
  },
  get_metrics_timeseries: {
    title: 'Usage over time',
    effect: 'reads',
    description:
      'Returns calls, errors and durations per interval of a period or a range (since, until), of everything or of one tool, with the versions deployed meanwhile. It takes the same filters as get_metrics_stats. The default of 1h has 60 points, 7d 10 080: prefer few (interval_seconds). Use it after get_metrics_stats. Example: {"period":"1h","tool":"find_orders"}.',
  },
  list_notices: {
    title: 'Notices',
    effect: 'reads',
    description:
      'Lists what happened, newest first: deploys, rollbacks, proposals, failed tests, drift, aborted canaries, lost hosts, failing tools, full queues. ended_at says that it is over. Use it to learn what changed before something failed, then get_metrics_timeseries or list_history. At most 100 per page. Example: {"event":"deploy","limit":10}.',
  },
  list_sessions: {
    title: 'Sessions of clients',
    effect: 'reads',
    description:
      'Lists what clients did, the latest first, with calls, errors and the last failed call of each. Use it to find who has trouble with a tool, then get_call. At most 100 per page. Example: {"tool":"find_orders","failed":true}.',
  },
  get_session: {
    title: 'One session',
    effect: 'reads',
    description:
      'Reads what one client did in order: lists, calls, errors and retries. Use it after list_sessions to see what it tried before and after a failure, then get_call. 50 events per page by default (limit, at most 500 per page). Example: {"session_id":"0197…"}.',
  },
  get_call: {
    title: 'One call',
    effect: 'reads',
    description:
      'Explains one call of the request log: what the caller got, how it ended, time in queue and database, rows, tokens, who called. Use it to see why a call failed, then update_tool. Example: {"call_id":"4711"}.',
  },
  get_insights: {
    title: 'What callers have trouble with',
    effect: 'reads',
    description:
      'Lists what goes wrong in real use over 24h, 7d or 30d, the most serious first: failing statements and arguments, retry loops, slow statements, short queues, cut results, confused or unused tools, revoked tokens, cancelled calls. Each names the calls behind it for get_call. Use it to find what to improve, then update_tool or update_connection with fix.changes of a finding. At most 200 per page. Example: {"period":"24h"}.',
  },
  get_queue_metrics: {
    title: 'Queues of databases',
    effect: 'reads',
    description:
      'Shows for each connection how many calls are running and waiting, and how many were rejected. Use it if calls are slow or rejected, then update_connection (max_concurrency, queue_limit). No arguments: {}.',
  },
  list_proposals: {
    title: 'List proposals',
    effect: 'reads',
    description:
      'Lists proposed changes, newest first; closed ones for 90 days. Use it to find yours and what became of them, then get_proposal. 50 per page by default (limit, at most 500 per page); filter: state (open, approved, rejected). Example: {"state":"open"}.',
  },
  get_proposal: {
    title: 'Read a proposal',
    effect: 'reads',
    description:
      'Reads one proposal: its operations, what approval would change, findings of gates, test results, and comments of reviewers. stale lists records that changed since: call rebase_proposal then. Use it to check what you proposed and what reviewers say. Example: {"proposal_id":"0197…"}.',
  },
  rebase_proposal: {
    title: 'Rebase a proposal',
    effect: 'overwrites',
    repeats: true,
    description:
      'Applies a stale proposal to the working copy as it is now, so that a person can review it again. Use it if get_proposal lists stale records. Look at its diff afterwards: your values replace those that were changed meanwhile. Example: {"proposal_id":"0197…"}.',
  },
  comment_on_proposal: {
    title: 'Comment on a proposal',
    effect: 'adds',
    description:
      'Adds a comment for the person who reviews a proposal. Use it to answer comments that get_proposal shows; a token that only proposes comments on its own proposals. Example: {"proposal_id":"0197…","text":"The limit keeps results short."}.',
  },
  get_server_config: {
    title: 'Read the settings',
    effect: 'reads',
    description:
      'Reads the server’s settings and their version; secrets are shown only as set or not. Use it before update_server_config. No arguments: {}.',
  },
  update_server_config: {
    title: 'Change the settings',
    effect: 'overwrites',
    description:
      'Changes server_name and global_variables; only an administrator can change other settings. Read them with get_server_config and send version. Takes effect with deploy_server. Example: {"version":4,"server_name":"Shop"}.',
  },
  get_global_variables: {
    title: 'Read global variables',
    effect: 'reads',
    description:
      'Reads the variables that templates use as vars.<name>, with the version of the settings. Use it before set_global_variables or update_global_variables. No arguments: {}.',
  },
  set_global_variables: {
    title: 'Replace global variables',
    effect: 'removes',
    description:
      'Replaces all global variables: those that you leave out are deleted. For individual ones use update_global_variables. At most 100; dry_run true lists what would be deleted. To undo it, pass history_id of the answer to rollback. Then call deploy_server. Example: {"variables":{"currency":"EUR","vat":{"value":0.19,"type":"float"}}}.',
  },
  update_global_variables: {
    title: 'Change global variables',
    effect: 'overwrites',
    description:
      'Adds or changes variables (set) and deletes others (delete) in one step, all or nothing; others are unchanged. Use it for individual ones; dry_run true only checks. To undo it, pass history_id of the answer to rollback. At most 100 in total. Then call deploy_server. Example: {"set":{"currency":"CHF"},"delete":["old_rate"]}.',
  },
  get_server_health: {
    title: 'Health of the server',
    effect: 'reads',
    description:
      'Reports whether the MCP server is running, its URL, which hosts serve it and whether each deployed database answers (within 3 seconds each). Use it after deploy_server. No arguments: {}.',
  },
  get_drift: {
    title: 'Drift of deployed definitions',
    effect: 'reads',
    description:
      'Lists deployed tools and resources whose tables have changed since the deploy (columns gone, new or of another type, refused statements), and connections that could not be asked. Checked after each deploy and every drift_check_minutes. Then update_tool and deploy_server. No arguments: {}.',
  },
  get_generated_code: {
    title: 'Read the generated code',
    effect: 'reads',
    description:
      'Returns a deployed version (snapshot; the active one by default) as a complete standalone TypeScript project; with toolset, only what that toolset holds. Use it after deploy_server, and only if the code itself is needed: it is large. Example: {"snapshot":3}.',
  },
  get_flow_layout: {
    title: 'Overview of everything',
    effect: 'reads',
    description:
      'Shows connections, tools, resources, prompts and toolsets and how they are connected, the state of the server and the number of undeployed changes. Use it first to learn about an installation; statements are in get_tool and get_resource. 50 per page of each kind by default (skip, limit, at most 500); totals counts all. Example: {"limit":50}.',
  },
} satisfies Record<string, ToolText>;

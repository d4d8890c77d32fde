import type { ToolText } from './texts.ts';

/** Deploying, moving, undoing, watching and the server’s own settings. */
export const OPERATE = {
  deploy_server: {
    title: 'Deploy',
    effect: 'overwrites',
    description:
      'Makes everything that is configured live for MCP clients at once. Use dry_run true first: it checks every statement and changes nothing. A fault lists every problem and what runs goes on. Then get_server_health. Example: {"note":"Order tools"}.',
  },
  stop_server: {
    title: 'Stop serving',
    effect: 'removes',
    description:
      'Takes the MCP server away from its clients: running calls finish (10 seconds), then every call is refused. Use it only when the person asked for it; nothing that is configured goes, and deploy_server starts it again. Takes no arguments: {}.',
  },
  get_deploy_status: {
    title: 'Deployment status',
    effect: 'reads',
    description:
      'Says what is deployed: stopped, deploying, running or error, which version, and how many changes wait for deploy_server. Use it before and after a deploy. Takes no arguments: {}.',
  },
  export_config: {
    title: 'Export the configuration',
    effect: 'reads',
    description:
      'Gives all connections, tools, resources, prompts and settings as one document without ids and secrets. Large: use get_flow_layout for an overview. Use it for a copy, or as data of import_config on another installation. Takes no arguments: {}.',
  },
  import_config: {
    title: 'Import a configuration',
    effect: 'adds',
    description:
      'Adds what an export holds; names that exist stay as they are; all or nothing. Call it with dry_run true first and read errors and needs_secrets. Secrets are not in exports: set them with update_connection. Its settings are left out. To undo it, rollback any entry of list_history with action import. At most 4 MiB here. Then deploy_server. Example: {"dry_run":true,"data":{"format":"sluice/1","tools":[]}}.',
  },
  list_history: {
    title: 'List changes',
    effect: 'reads',
    description:
      'Lists changes of everything, the newest first, with who made them and what differs. Use it to find the history_id for rollback. At most 100 a page; filters entity_type (connection, tool, resource, prompt, server_config…), entity_id, action (create, update, delete, rollback, import, deploy, blocked). Example: {"entity_type":"tool","action":"delete"}.',
  },
  get_entity_history: {
    title: 'Changes of one record',
    effect: 'reads',
    description:
      'Lists the changes of one record, the newest first, also of a deleted one (by id). Use it before rollback. entity_type is connection, tool, resource, prompt or server_config. At most 100 a page. Example: {"entity_type":"tool","entity_id":"find_orders"}.',
  },
  rollback: {
    title: 'Undo a change',
    effect: 'overwrites',
    description:
      'Restores the state before a history entry: a deleted record comes back with all that went with it, a created one goes, an import is undone whole. history_id is an entry’s id from list_history, get_entity_history or the answer of a deletion, or a batch_id; try dry_run true first. A later change of the record is overwritten. Then deploy_server. Example: {"history_id":"0197…","dry_run":true}.',
  },
  get_metrics_stats: {
    title: 'Usage of tools',
    effect: 'reads',
    description:
      'Counts calls, errors and durations of every tool, resource and prompt that was called within a period of 1h, 6h, 24h or 7d. Use it to find slow or failing tools, then get_metrics_timeseries. Example: {"period":"24h"}.',
  },
  get_metrics_timeseries: {
    title: 'Usage over time',
    effect: 'reads',
    description:
      'Calls, errors and durations minute by minute for 1h, 6h, 24h or 7d, of everything or of one tool. 7d has 10 080 points: prefer 1h, or a longer interval_seconds. Use it after get_metrics_stats. Example: {"period":"1h","tool":"find_orders"}.',
  },
  get_queue_metrics: {
    title: 'Queues of databases',
    effect: 'reads',
    description:
      'Shows for each connection how many calls run and wait, and how many were turned away. Use it when calls are slow or refused, then update_connection (max_concurrency, queue_limit). Takes no arguments: {}.',
  },
  get_server_config: {
    title: 'Read the settings',
    effect: 'reads',
    description:
      'Reads the server’s settings and their version; secrets show only as set or not. Use it before update_server_config. Takes no arguments: {}.',
  },
  update_server_config: {
    title: 'Change the settings',
    effect: 'overwrites',
    description:
      'Changes server_name and global_variables; every other setting is refused, because only an administrator changes it. Read them with get_server_config and send version. Takes effect with deploy_server. Example: {"version":4,"server_name":"Shop"}.',
  },
  get_global_variables: {
    title: 'Read global variables',
    effect: 'reads',
    description:
      'Reads the variables that templates use as vars.<name>, with the version of the settings. Use it before set_global_variables or update_global_variables. Takes no arguments: {}.',
  },
  set_global_variables: {
    title: 'Replace global variables',
    effect: 'removes',
    description:
      'Replaces all global variables: what you leave out goes. For single ones use update_global_variables. At most 100; dry_run true names what would go; history_id of the answer given to rollback undoes it. Then deploy_server. Example: {"variables":{"currency":"EUR","vat":{"value":0.19,"type":"float"}}}.',
  },
  update_global_variables: {
    title: 'Change global variables',
    effect: 'overwrites',
    description:
      'Adds or changes variables (set) and deletes others (delete) in one step, all or nothing; the rest stays. Use it for single ones; dry_run true only checks; history_id of the answer given to rollback undoes it. At most 100 in all. Then deploy_server. Example: {"set":{"currency":"CHF"},"delete":["old_rate"]}.',
  },
  get_server_health: {
    title: 'Health of the server',
    effect: 'reads',
    description:
      'Says whether the MCP server runs, at which URL clients find it, which hosts serve it and whether each deployed database answers (3 seconds each). Use it after deploy_server. Takes no arguments: {}.',
  },
  get_generated_code: {
    title: 'Read the generated code',
    effect: 'reads',
    description:
      'Gives a deployed version (snapshot; the active one unless said) as a complete TypeScript project that runs on its own. Use it after deploy_server, and only when the code itself is wanted: it is large. Example: {"snapshot":3}.',
  },
  get_flow_layout: {
    title: 'Overview of everything',
    effect: 'reads',
    description:
      'Shows all connections, tools, resources and prompts with how they hang together, the server’s state and what waits for deploy_server. Use it first to get to know an installation; statements are in get_tool and get_resource. Takes no arguments: {}.',
  },
} satisfies Record<string, ToolText>;

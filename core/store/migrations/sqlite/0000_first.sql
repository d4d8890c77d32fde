CREATE TABLE `acme_accounts` (
	`directory` text PRIMARY KEY NOT NULL,
	`private_key` text NOT NULL,
	`url` text
);
--> statement-breakpoint
CREATE TABLE `admins` (
	`id` text PRIMARY KEY NOT NULL,
	`slot` integer NOT NULL,
	`username` text NOT NULL,
	`password_hash` text NOT NULL,
	`totp_secret` text,
	`totp_enabled` integer NOT NULL,
	`totp_last_step` integer,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `admins_slot` ON `admins` (`slot`);--> statement-breakpoint
CREATE UNIQUE INDEX `admins_username` ON `admins` (`username`);--> statement-breakpoint
CREATE TABLE `agent_activity` (
	`id` text PRIMARY KEY NOT NULL,
	`entry` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `agent_clients` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`client_id` text NOT NULL,
	`secret_digest` text NOT NULL,
	`scopes` text NOT NULL,
	`idle_timeout_minutes` integer NOT NULL,
	`revoked` integer NOT NULL,
	`last_used_at` text,
	`last_ip` text,
	`created_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `agent_clients_client_id` ON `agent_clients` (`client_id`);--> statement-breakpoint
CREATE TABLE `agent_families` (
	`id` text PRIMARY KEY NOT NULL,
	`client_row` text NOT NULL,
	`scopes` text NOT NULL,
	`revoked` integer NOT NULL,
	`last_used_at` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `agent_families_client` ON `agent_families` (`client_row`);--> statement-breakpoint
CREATE INDEX `agent_families_used` ON `agent_families` (`last_used_at`);--> statement-breakpoint
CREATE TABLE `agent_grants` (
	`digest` text PRIMARY KEY NOT NULL,
	`family_id` text NOT NULL,
	`kind` text NOT NULL,
	`token_prefix` text NOT NULL,
	`spent` integer NOT NULL,
	`expires_at` text
);
--> statement-breakpoint
CREATE INDEX `agent_grants_family` ON `agent_grants` (`family_id`);--> statement-breakpoint
CREATE TABLE `agent_tokens` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`token_prefix` text NOT NULL,
	`digest` text NOT NULL,
	`scopes` text NOT NULL,
	`expires_at` text NOT NULL,
	`revoked` integer NOT NULL,
	`last_used_at` text,
	`last_ip` text,
	`created_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `agent_tokens_digest` ON `agent_tokens` (`digest`);--> statement-breakpoint
CREATE TABLE `certificates` (
	`id` integer PRIMARY KEY NOT NULL,
	`directory` text,
	`domains` text NOT NULL,
	`chain` text,
	`private_key` text,
	`issuer` text,
	`valid_from` text,
	`valid_until` text,
	`renew_at` text,
	`requested_at` text,
	`forced` integer NOT NULL,
	`lease_by` text,
	`lease_until` text,
	`failures` integer NOT NULL,
	`failed_for` text,
	`last_error` text,
	`next_try_at` text
);
--> statement-breakpoint
CREATE TABLE `compiled` (
	`entity_id` text PRIMARY KEY NOT NULL,
	`key` text NOT NULL,
	`digest` text NOT NULL,
	`artifact` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `connections` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`version` integer NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	`db_type` text NOT NULL,
	`host` text,
	`port` integer,
	`database` text NOT NULL,
	`username` text,
	`password` text,
	`ssl_mode` text,
	`ssl_ca` text,
	`ssl_cert` text,
	`ssl_key` text,
	`extra_params` text NOT NULL,
	`enabled` integer NOT NULL,
	`read_only` integer NOT NULL,
	`pool_size` integer NOT NULL,
	`max_concurrency` integer,
	`queue_limit` integer NOT NULL,
	`queue_timeout_ms` integer NOT NULL,
	`query_timeout_ms` integer NOT NULL,
	`max_rows` integer NOT NULL,
	`max_bytes` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `connections_name` ON `connections` (`name`);--> statement-breakpoint
CREATE TABLE `deployment` (
	`id` integer PRIMARY KEY NOT NULL,
	`desired` text NOT NULL,
	`active_version` integer,
	`last_error` text,
	`deployed_at` text
);
--> statement-breakpoint
CREATE TABLE `history` (
	`id` text PRIMARY KEY NOT NULL,
	`entity_type` text NOT NULL,
	`entity_id` text NOT NULL,
	`entity_name` text NOT NULL,
	`action` text NOT NULL,
	`actor` text NOT NULL,
	`ip` text,
	`before` text,
	`after` text,
	`version_before` integer,
	`version_after` integer,
	`batch_id` text,
	`created_at` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `history_entity` ON `history` (`entity_type`,`entity_id`,`id`);--> statement-breakpoint
CREATE INDEX `history_batch` ON `history` (`batch_id`);--> statement-breakpoint
CREATE INDEX `history_action` ON `history` (`action`,`id`);--> statement-breakpoint
CREATE TABLE `host_reports` (
	`boot_id` text PRIMARY KEY NOT NULL,
	`host_id` text NOT NULL,
	`seq` integer NOT NULL,
	`queues` text NOT NULL,
	`reported_at` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `host_reports_time` ON `host_reports` (`reported_at`);--> statement-breakpoint
CREATE TABLE `hosts` (
	`id` text PRIMARY KEY NOT NULL,
	`server` text NOT NULL,
	`connection` text NOT NULL,
	`connected_at` text NOT NULL,
	`seen_at` real NOT NULL,
	`acks` integer NOT NULL,
	`url` text,
	`snapshot_version` integer,
	`checksum` text,
	`load_ms` real,
	`error` text,
	`probe` text,
	`probe_error` text
);
--> statement-breakpoint
CREATE TABLE `leases` (
	`name` text PRIMARY KEY NOT NULL,
	`holder` text NOT NULL,
	`until` real NOT NULL
);
--> statement-breakpoint
CREATE TABLE `mcp_tokens` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`token_prefix` text NOT NULL,
	`digest` text NOT NULL,
	`secret_hash` text NOT NULL,
	`idle_timeout_minutes` integer,
	`last_used_at` text,
	`revoked` integer NOT NULL,
	`revoked_at` text,
	`created_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `mcp_tokens_digest` ON `mcp_tokens` (`digest`);--> statement-breakpoint
CREATE TABLE `meta` (
	`key` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `pending_logins` (
	`id` text PRIMARY KEY NOT NULL,
	`admin_id` text NOT NULL,
	`attempts` integer NOT NULL,
	`expires_at` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `pending_logins_admin` ON `pending_logins` (`admin_id`);--> statement-breakpoint
CREATE TABLE `prompts` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`version` integer NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	`connection_id` text,
	`title` text,
	`description` text NOT NULL,
	`template` text,
	`messages` text,
	`arguments` text NOT NULL,
	`tags` text NOT NULL,
	`enabled` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `prompts_name` ON `prompts` (`name`);--> statement-breakpoint
CREATE INDEX `prompts_connection` ON `prompts` (`connection_id`);--> statement-breakpoint
CREATE TABLE `recovery_codes` (
	`code_hash` text PRIMARY KEY NOT NULL,
	`admin_id` text NOT NULL,
	`created_at` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `recovery_codes_admin` ON `recovery_codes` (`admin_id`);--> statement-breakpoint
CREATE TABLE `request_logs` (
	`id` integer PRIMARY KEY NOT NULL,
	`timestamp` text NOT NULL,
	`kind` text NOT NULL,
	`name` text NOT NULL,
	`connection_id` text,
	`client` text,
	`token_prefix` text,
	`duration_ms` real NOT NULL,
	`wait_ms` real NOT NULL,
	`rows` integer NOT NULL,
	`success` integer NOT NULL,
	`error` text,
	`snapshot_version` integer
);
--> statement-breakpoint
CREATE INDEX `request_logs_time` ON `request_logs` (`timestamp`,`id`);--> statement-breakpoint
CREATE INDEX `request_logs_name` ON `request_logs` (`name`,`timestamp`);--> statement-breakpoint
CREATE TABLE `resources` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`version` integer NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	`connection_id` text NOT NULL,
	`title` text,
	`description` text NOT NULL,
	`uri_template` text NOT NULL,
	`sql_query` text NOT NULL,
	`parameters` text NOT NULL,
	`tags` text NOT NULL,
	`mime_type` text NOT NULL,
	`transform_template` text,
	`enabled` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `resources_name` ON `resources` (`name`);--> statement-breakpoint
CREATE UNIQUE INDEX `resources_uri` ON `resources` (`uri_template`);--> statement-breakpoint
CREATE INDEX `resources_connection` ON `resources` (`connection_id`);--> statement-breakpoint
CREATE TABLE `server_config` (
	`id` integer PRIMARY KEY NOT NULL,
	`settings` text NOT NULL,
	`version` integer NOT NULL,
	`updated_at` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `sessions` (
	`id` text PRIMARY KEY NOT NULL,
	`admin_id` text NOT NULL,
	`ip` text,
	`user_agent` text,
	`created_at` text NOT NULL,
	`last_seen_at` text NOT NULL,
	`expires_at` text NOT NULL,
	`revoked_at` text
);
--> statement-breakpoint
CREATE INDEX `sessions_admin` ON `sessions` (`admin_id`);--> statement-breakpoint
CREATE TABLE `snapshots` (
	`version` integer PRIMARY KEY NOT NULL,
	`checksum` text NOT NULL,
	`content` text NOT NULL,
	`counts` text NOT NULL,
	`note` text,
	`actor` text NOT NULL,
	`created_at` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `tools` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`version` integer NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	`connection_id` text NOT NULL,
	`title` text,
	`description` text NOT NULL,
	`sql_query` text NOT NULL,
	`parameters` text NOT NULL,
	`tags` text NOT NULL,
	`return_type` text NOT NULL,
	`transform_template` text,
	`enabled` integer NOT NULL,
	`read_only` integer NOT NULL,
	`annotations` text NOT NULL,
	`timeout_ms` integer,
	`max_rows` integer,
	`cache_ttl_seconds` integer NOT NULL,
	`rate_limit_per_minute` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `tools_name` ON `tools` (`name`);--> statement-breakpoint
CREATE INDEX `tools_connection` ON `tools` (`connection_id`);--> statement-breakpoint
CREATE TABLE `usage_series` (
	`seconds` integer NOT NULL,
	`start` text NOT NULL,
	`kind` text NOT NULL,
	`name` text NOT NULL,
	`entity_id` text,
	`calls` integer NOT NULL,
	`errors` integer NOT NULL,
	`duration_ms` real NOT NULL,
	`rows` real NOT NULL,
	`bytes` real NOT NULL,
	`last_called_at` text NOT NULL,
	`histogram` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `usage_series_key` ON `usage_series` (`seconds`,`start`,`kind`,`name`);
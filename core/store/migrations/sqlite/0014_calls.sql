CREATE TABLE `mcp_sessions` (
	`id` integer PRIMARY KEY NOT NULL,
	`key` text NOT NULL,
	`session` text,
	`client` text,
	`token_prefix` text,
	`person` text,
	`token` text,
	`client_id` text,
	`started_at` text NOT NULL,
	`last_at` text NOT NULL,
	`calls` integer NOT NULL,
	`errors` integer NOT NULL,
	`rows` real NOT NULL,
	`tokens` real NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `mcp_sessions_key` ON `mcp_sessions` (`key`,`started_at`);--> statement-breakpoint
CREATE INDEX `mcp_sessions_time` ON `mcp_sessions` (`last_at`,`id`);--> statement-breakpoint
CREATE TABLE `refusal_counts` (
	`hour` text NOT NULL,
	`kind` text NOT NULL,
	`count` real NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `refusal_counts_key` ON `refusal_counts` (`hour`,`kind`);--> statement-breakpoint
CREATE TABLE `refusals` (
	`id` integer PRIMARY KEY NOT NULL,
	`timestamp` text NOT NULL,
	`kind` text NOT NULL,
	`status` integer NOT NULL,
	`reason` text NOT NULL,
	`address` text,
	`client` text,
	`called` text
);
--> statement-breakpoint
ALTER TABLE `host_reports` ADD `running` text;--> statement-breakpoint
ALTER TABLE `request_logs` ADD `database_ms` real DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `request_logs` ADD `bytes` real DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `request_logs` ADD `tokens` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `request_logs` ADD `error_message` text;--> statement-breakpoint
ALTER TABLE `request_logs` ADD `sqlstate` text;--> statement-breakpoint
ALTER TABLE `request_logs` ADD `trace_id` text;--> statement-breakpoint
ALTER TABLE `request_logs` ADD `session_id` integer;--> statement-breakpoint
CREATE INDEX `request_logs_session` ON `request_logs` (`session_id`,`timestamp`);--> statement-breakpoint
CREATE INDEX `request_logs_failed` ON `request_logs` (`timestamp`,`id`,`error`) WHERE error is not null;--> statement-breakpoint
ALTER TABLE `usage_series` ADD `refused` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `usage_series` ADD `no_slot` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `usage_series` ADD `timeout` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `usage_series` ADD `cancelled` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `usage_series` ADD `rate_limited` integer DEFAULT 0 NOT NULL;
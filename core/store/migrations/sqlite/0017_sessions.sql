CREATE TABLE `mcp_lists` (
	`id` integer PRIMARY KEY NOT NULL,
	`session_id` integer NOT NULL,
	`timestamp` text NOT NULL,
	`method` text NOT NULL,
	`duration_ms` real NOT NULL
);
--> statement-breakpoint
CREATE INDEX `mcp_lists_session` ON `mcp_lists` (`session_id`,`timestamp`);--> statement-breakpoint
CREATE INDEX `mcp_lists_time` ON `mcp_lists` (`timestamp`);--> statement-breakpoint
CREATE TABLE `mcp_session_names` (
	`session_id` integer NOT NULL,
	`name` text NOT NULL,
	`calls` integer NOT NULL,
	`errors` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `mcp_session_names_key` ON `mcp_session_names` (`name`,`session_id`);--> statement-breakpoint
CREATE INDEX `mcp_session_names_session` ON `mcp_session_names` (`session_id`);--> statement-breakpoint
ALTER TABLE `mcp_sessions` ADD `lists` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `request_logs_failed_name` ON `request_logs` (`name`,`timestamp`) WHERE error is not null;--> statement-breakpoint
CREATE INDEX `request_logs_connection` ON `request_logs` (`connection_id`,`timestamp`);--> statement-breakpoint
CREATE INDEX `request_logs_kind` ON `request_logs` (`kind`,`timestamp`) WHERE kind <> 'tool';--> statement-breakpoint
CREATE INDEX `request_logs_failed_session` ON `request_logs` (`session_id`,`timestamp`) WHERE error is not null;
CREATE TABLE `caller_series` (
	`seconds` integer NOT NULL,
	`start` text NOT NULL,
	`kind` text NOT NULL,
	`name` text NOT NULL,
	`entity_id` text,
	`calls` integer NOT NULL,
	`errors` integer NOT NULL,
	`refused` integer DEFAULT 0 NOT NULL,
	`no_slot` integer DEFAULT 0 NOT NULL,
	`timeout` integer DEFAULT 0 NOT NULL,
	`cancelled` integer DEFAULT 0 NOT NULL,
	`rate_limited` integer DEFAULT 0 NOT NULL,
	`duration_ms` real NOT NULL,
	`rows` real NOT NULL,
	`bytes` real NOT NULL,
	`last_called_at` text NOT NULL,
	`histogram` text NOT NULL,
	`caller_id` integer NOT NULL,
	`connection_id` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `caller_series_key` ON `caller_series` (`seconds`,`start`,`caller_id`,`kind`,`name`,`connection_id`);--> statement-breakpoint
CREATE INDEX `caller_series_caller` ON `caller_series` (`caller_id`,`seconds`,`start`);--> statement-breakpoint
CREATE TABLE `notice_events` (
	`id` integer PRIMARY KEY NOT NULL,
	`event` text NOT NULL,
	`data` text NOT NULL,
	`created_at` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `notice_events_event` ON `notice_events` (`event`,`id`);--> statement-breakpoint
CREATE TABLE `notice_reads` (
	`person_id` text PRIMARY KEY NOT NULL,
	`event_id` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `usage_callers` (
	`id` integer PRIMARY KEY NOT NULL,
	`key` text NOT NULL,
	`client` text,
	`token_prefix` text,
	`person` text,
	`token` text,
	`client_id` text,
	`last_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `usage_callers_key` ON `usage_callers` (`key`);--> statement-breakpoint
CREATE INDEX `usage_callers_time` ON `usage_callers` (`last_at`);
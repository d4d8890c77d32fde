CREATE TABLE `audit_pending` (
	`id` integer PRIMARY KEY NOT NULL,
	`drafts` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `audit_entries` (
	`seq` integer PRIMARY KEY NOT NULL,
	`at` text NOT NULL,
	`kind` text NOT NULL,
	`actor_type` text,
	`actor_id` text,
	`actor_name` text,
	`entity_type` text,
	`entity_id` text,
	`entity_name` text,
	`tool` text,
	`outcome` text,
	`ip` text,
	`request_id` text,
	`detail` text,
	`hash` text NOT NULL,
	`pruned_by` text
);
--> statement-breakpoint
CREATE INDEX `audit_entries_at` ON `audit_entries` (`at`);--> statement-breakpoint
CREATE INDEX `audit_entries_kind` ON `audit_entries` (`kind`,`at`);--> statement-breakpoint
CREATE INDEX `audit_entries_actor` ON `audit_entries` (`actor_name`);--> statement-breakpoint
CREATE INDEX `audit_entries_tool` ON `audit_entries` (`tool`);--> statement-breakpoint
CREATE INDEX `audit_entries_entity_name` ON `audit_entries` (`entity_name`) WHERE tool is null;--> statement-breakpoint
CREATE INDEX `audit_entries_entity_id` ON `audit_entries` (`entity_id`) WHERE tool is null;--> statement-breakpoint
CREATE INDEX `audit_entries_pruned` ON `audit_entries` (`pruned_by`) WHERE pruned_by is not null;--> statement-breakpoint
CREATE TABLE `audit_heads` (
	`id` text PRIMARY KEY NOT NULL,
	`type` text NOT NULL,
	`seq` real NOT NULL,
	`hash` text NOT NULL,
	`at` text NOT NULL,
	`kid` text NOT NULL,
	`jws` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `audit_heads_seq` ON `audit_heads` (`seq`);--> statement-breakpoint
CREATE INDEX `audit_heads_type` ON `audit_heads` (`type`,`at`);--> statement-breakpoint
CREATE TABLE `audit_keys` (
	`kid` text PRIMARY KEY NOT NULL,
	`public_key` text NOT NULL,
	`private_key` text NOT NULL,
	`created_at` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `audit_sinks` (
	`name` text PRIMARY KEY NOT NULL,
	`seq` real NOT NULL,
	`head` text,
	`error` text,
	`at` text NOT NULL
);

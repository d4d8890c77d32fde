CREATE TABLE `toolsets` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`version` integer NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	`title` text,
	`description` text NOT NULL,
	`instructions` text,
	`include` text NOT NULL,
	`exclude` text NOT NULL,
	`read_only` integer NOT NULL,
	`groups` text NOT NULL,
	`enabled` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `toolsets_name` ON `toolsets` (`name`);--> statement-breakpoint
ALTER TABLE `mcp_tokens` ADD `toolsets` text;--> statement-breakpoint
ALTER TABLE `mcp_tokens` ADD `claims` text;
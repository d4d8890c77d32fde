CREATE TABLE `proposal_comments` (
	`id` text PRIMARY KEY NOT NULL,
	`proposal_id` text NOT NULL,
	`author` text NOT NULL,
	`text` text NOT NULL,
	`created_at` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `proposal_comments_proposal` ON `proposal_comments` (`proposal_id`,`id`);--> statement-breakpoint
CREATE TABLE `proposal_operations` (
	`id` text PRIMARY KEY NOT NULL,
	`proposal_id` text NOT NULL,
	`position` integer NOT NULL,
	`operation` text NOT NULL,
	`input` text NOT NULL,
	`note` text,
	`summary` text NOT NULL,
	`touched` text NOT NULL,
	`created_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `proposal_operations_position` ON `proposal_operations` (`proposal_id`,`position`);--> statement-breakpoint
CREATE TABLE `proposals` (
	`id` text PRIMARY KEY NOT NULL,
	`title` text NOT NULL,
	`note` text,
	`status` text NOT NULL,
	`author` text NOT NULL,
	`gathers` text,
	`version` integer NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	`closed_at` text,
	`closed_by` text,
	`closed` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `proposals_gathers` ON `proposals` (`gathers`);--> statement-breakpoint
CREATE INDEX `proposals_status` ON `proposals` (`status`,`id`);
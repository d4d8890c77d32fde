CREATE TABLE `notice_deliveries` (
	`id` text PRIMARY KEY NOT NULL,
	`notice_id` text NOT NULL,
	`event` text NOT NULL,
	`body` text NOT NULL,
	`status` text NOT NULL,
	`attempts` integer NOT NULL,
	`response_status` integer,
	`error` text,
	`created_at` text NOT NULL,
	`last_attempt_at` text,
	`next_attempt_at` text
);
--> statement-breakpoint
CREATE INDEX `notice_deliveries_due` ON `notice_deliveries` (`status`,`next_attempt_at`);--> statement-breakpoint
CREATE INDEX `notice_deliveries_notice` ON `notice_deliveries` (`notice_id`,`id`);--> statement-breakpoint
CREATE TABLE `notices` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`url` text NOT NULL,
	`events` text NOT NULL,
	`enabled` integer NOT NULL,
	`secret` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `notices_name` ON `notices` (`name`);
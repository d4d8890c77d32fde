CREATE TABLE `test_results` (
	`id` text PRIMARY KEY NOT NULL,
	`test_id` text NOT NULL,
	`status` text NOT NULL,
	`ms` real NOT NULL,
	`rows` integer,
	`failures` text NOT NULL,
	`against` text NOT NULL,
	`actor` text NOT NULL,
	`created_at` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `test_results_test` ON `test_results` (`test_id`,`id`);--> statement-breakpoint
CREATE TABLE `tests` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`version` integer NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	`owner` text NOT NULL,
	`owner_id` text NOT NULL,
	`arguments` text NOT NULL,
	`caller` text,
	`expect` text NOT NULL,
	`enabled` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `tests_name` ON `tests` (`name`);--> statement-breakpoint
CREATE INDEX `tests_owner` ON `tests` (`owner_id`);
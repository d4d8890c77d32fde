CREATE TABLE `canaries` (
	`id` text PRIMARY KEY NOT NULL,
	`candidate_id` text NOT NULL,
	`own_candidate` integer NOT NULL,
	`checksum` text NOT NULL,
	`status` text NOT NULL,
	`note` text,
	`allowed` text NOT NULL,
	`percent` integer NOT NULL,
	`minutes` integer NOT NULL,
	`max_error_rate` real,
	`max_p95_ratio` real,
	`min_calls` integer NOT NULL,
	`seed` text NOT NULL,
	`base_version` integer NOT NULL,
	`version` integer,
	`actor` text NOT NULL,
	`started_at` text NOT NULL,
	`ends_at` text NOT NULL,
	`ended_at` text,
	`reason` text
);
--> statement-breakpoint
CREATE TABLE `canary_sides` (
	`canary_id` text NOT NULL,
	`side` text NOT NULL,
	`calls` integer NOT NULL,
	`errors` integer NOT NULL,
	`histogram` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `canary_sides_key` ON `canary_sides` (`canary_id`,`side`);
CREATE TABLE `definition_keys` (
	`kid` text PRIMARY KEY NOT NULL,
	`state` text NOT NULL,
	`public_key` text NOT NULL,
	`private_key` text,
	`created_at` text NOT NULL,
	`since` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `client_versions` (
	`client` text NOT NULL,
	`protocol_version` text NOT NULL,
	`first_at` text NOT NULL,
	`last_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `client_versions_key` ON `client_versions` (`client`,`protocol_version`);--> statement-breakpoint
CREATE INDEX `client_versions_time` ON `client_versions` (`last_at`);--> statement-breakpoint
ALTER TABLE `sessions` ADD `proved_at` text;
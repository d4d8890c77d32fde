CREATE TABLE `used_assertions` (
	`digest` text PRIMARY KEY NOT NULL,
	`expires_at` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `used_assertions_expiry` ON `used_assertions` (`expires_at`);--> statement-breakpoint
ALTER TABLE `identity_providers` ADD `accept_assertions` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `identity_providers` ADD `assertion_clients` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `identity_providers` ADD `assertion_algorithms` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `oauth_grants` ADD `kind` text;
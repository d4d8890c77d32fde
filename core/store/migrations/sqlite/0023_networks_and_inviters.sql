ALTER TABLE `people` ADD `invited_by` text;--> statement-breakpoint
ALTER TABLE `identities` ADD `invited_by` text;--> statement-breakpoint
ALTER TABLE `oauth_registrations` ADD `network` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `oauth_requests` ADD `network` text DEFAULT '' NOT NULL;
ALTER TABLE `connections` ADD `session_values` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `connections` ADD `session_role` text;--> statement-breakpoint
ALTER TABLE `resources` ADD `masks` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `tools` ADD `masks` text DEFAULT '[]' NOT NULL;
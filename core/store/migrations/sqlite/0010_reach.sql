ALTER TABLE `connections` ADD `target` text DEFAULT 'any' NOT NULL;--> statement-breakpoint
ALTER TABLE `tools` ADD `max_plan_rows` integer;--> statement-breakpoint
ALTER TABLE `tools` ADD `max_plan_cost` integer;--> statement-breakpoint
ALTER TABLE `tools` ADD `plan_limit` text DEFAULT 'warn' NOT NULL;
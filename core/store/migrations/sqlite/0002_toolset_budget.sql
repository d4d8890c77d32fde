ALTER TABLE `toolsets` ADD `token_budget` integer;--> statement-breakpoint
ALTER TABLE `toolsets` ADD `find_tools` integer DEFAULT false NOT NULL;
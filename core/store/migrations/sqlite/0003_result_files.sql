ALTER TABLE `tools` ADD `files` text;--> statement-breakpoint
ALTER TABLE `toolsets` ADD `files` integer DEFAULT false NOT NULL;
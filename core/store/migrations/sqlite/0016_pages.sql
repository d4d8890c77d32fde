ALTER TABLE `tools` ADD `max_tokens` integer;--> statement-breakpoint
ALTER TABLE `tools` ADD `page_by` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `tools` ADD `text_format` text DEFAULT 'json' NOT NULL;
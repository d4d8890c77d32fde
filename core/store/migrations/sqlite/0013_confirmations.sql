ALTER TABLE `request_logs` ADD `confirmation` text;--> statement-breakpoint
ALTER TABLE `tools` ADD `max_bytes` integer;--> statement-breakpoint
ALTER TABLE `tools` ADD `max_affected_rows` integer;--> statement-breakpoint
ALTER TABLE `tools` ADD `confirm` text DEFAULT 'never' NOT NULL;--> statement-breakpoint
ALTER TABLE `tools` ADD `confirm_rows` integer;--> statement-breakpoint
ALTER TABLE `tools` ADD `two_step` integer DEFAULT false NOT NULL;
ALTER TABLE `hosts` ADD `signed_at` real;--> statement-breakpoint
ALTER TABLE `hosts` ADD `disk_fault` text;
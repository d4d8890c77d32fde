ALTER TABLE `hosts` ADD `address` text;--> statement-breakpoint
ALTER TABLE `hosts` ADD `program_version` text;
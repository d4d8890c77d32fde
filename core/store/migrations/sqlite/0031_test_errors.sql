ALTER TABLE `test_results` ADD `error` text;--> statement-breakpoint
ALTER TABLE `test_results` ADD `sqlstate` text;
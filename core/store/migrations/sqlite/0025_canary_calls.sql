ALTER TABLE `request_logs` ADD `canary` text;--> statement-breakpoint
CREATE INDEX `request_logs_canary` ON `request_logs` (`canary`,`timestamp`) WHERE canary is not null;
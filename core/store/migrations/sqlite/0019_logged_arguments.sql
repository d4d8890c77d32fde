ALTER TABLE `request_logs` ADD `arguments` text;--> statement-breakpoint
CREATE INDEX `request_logs_arguments` ON `request_logs` (`timestamp`) WHERE arguments > '';--> statement-breakpoint
ALTER TABLE `tools` ADD `log_arguments` integer DEFAULT false NOT NULL;
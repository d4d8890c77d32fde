ALTER TABLE `request_logs` ADD `truncated` integer DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX `request_logs_truncated` ON `request_logs` (`name`,`timestamp`) WHERE truncated;--> statement-breakpoint
CREATE INDEX `mcp_sessions_client` ON `mcp_sessions` (`client`,`last_at`);
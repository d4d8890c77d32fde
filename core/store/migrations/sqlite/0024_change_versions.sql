ALTER TABLE `mcp_tokens` ADD `version` integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE `notices` ADD `version` integer DEFAULT 1 NOT NULL;
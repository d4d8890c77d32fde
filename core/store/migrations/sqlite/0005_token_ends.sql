ALTER TABLE `oauth_apps` ADD `expires_at` text;--> statement-breakpoint
ALTER TABLE `oauth_apps` ADD `previous_digest` text;--> statement-breakpoint
ALTER TABLE `oauth_apps` ADD `rotation_ends_at` text;--> statement-breakpoint
ALTER TABLE `oauth_apps` ADD `warned_days` integer;--> statement-breakpoint
ALTER TABLE `mcp_tokens` ADD `expires_at` text;--> statement-breakpoint
ALTER TABLE `mcp_tokens` ADD `previous_digest` text;--> statement-breakpoint
ALTER TABLE `mcp_tokens` ADD `rotation_ends_at` text;--> statement-breakpoint
ALTER TABLE `mcp_tokens` ADD `warned_days` integer;--> statement-breakpoint
ALTER TABLE `mcp_tokens` ADD `previous_hash` text;--> statement-breakpoint
ALTER TABLE `agent_clients` ADD `expires_at` text;--> statement-breakpoint
ALTER TABLE `agent_clients` ADD `previous_digest` text;--> statement-breakpoint
ALTER TABLE `agent_clients` ADD `rotation_ends_at` text;--> statement-breakpoint
ALTER TABLE `agent_clients` ADD `warned_days` integer;
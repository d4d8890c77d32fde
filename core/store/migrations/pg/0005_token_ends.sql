ALTER TABLE "oauth_apps" ADD COLUMN "expires_at" text;--> statement-breakpoint
ALTER TABLE "oauth_apps" ADD COLUMN "previous_digest" text;--> statement-breakpoint
ALTER TABLE "oauth_apps" ADD COLUMN "rotation_ends_at" text;--> statement-breakpoint
ALTER TABLE "oauth_apps" ADD COLUMN "warned_days" integer;--> statement-breakpoint
ALTER TABLE "mcp_tokens" ADD COLUMN "expires_at" text;--> statement-breakpoint
ALTER TABLE "mcp_tokens" ADD COLUMN "previous_digest" text;--> statement-breakpoint
ALTER TABLE "mcp_tokens" ADD COLUMN "rotation_ends_at" text;--> statement-breakpoint
ALTER TABLE "mcp_tokens" ADD COLUMN "warned_days" integer;--> statement-breakpoint
ALTER TABLE "mcp_tokens" ADD COLUMN "previous_hash" text;--> statement-breakpoint
ALTER TABLE "agent_clients" ADD COLUMN "expires_at" text;--> statement-breakpoint
ALTER TABLE "agent_clients" ADD COLUMN "previous_digest" text;--> statement-breakpoint
ALTER TABLE "agent_clients" ADD COLUMN "rotation_ends_at" text;--> statement-breakpoint
ALTER TABLE "agent_clients" ADD COLUMN "warned_days" integer;
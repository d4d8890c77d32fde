ALTER TABLE "connections" ADD COLUMN "session_values" text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE "connections" ADD COLUMN "session_role" text;--> statement-breakpoint
ALTER TABLE "resources" ADD COLUMN "masks" text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE "tools" ADD COLUMN "masks" text DEFAULT '[]' NOT NULL;
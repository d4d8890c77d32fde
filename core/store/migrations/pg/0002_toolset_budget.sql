ALTER TABLE "toolsets" ADD COLUMN "token_budget" integer;--> statement-breakpoint
ALTER TABLE "toolsets" ADD COLUMN "find_tools" boolean DEFAULT false NOT NULL;
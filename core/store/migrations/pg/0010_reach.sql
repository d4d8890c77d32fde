ALTER TABLE "connections" ADD COLUMN "target" text DEFAULT 'any' NOT NULL;--> statement-breakpoint
ALTER TABLE "tools" ADD COLUMN "max_plan_rows" integer;--> statement-breakpoint
ALTER TABLE "tools" ADD COLUMN "max_plan_cost" integer;--> statement-breakpoint
ALTER TABLE "tools" ADD COLUMN "plan_limit" text DEFAULT 'warn' NOT NULL;
ALTER TABLE "request_logs" ADD COLUMN "confirmation" text;--> statement-breakpoint
ALTER TABLE "tools" ADD COLUMN "max_bytes" integer;--> statement-breakpoint
ALTER TABLE "tools" ADD COLUMN "max_affected_rows" integer;--> statement-breakpoint
ALTER TABLE "tools" ADD COLUMN "confirm" text DEFAULT 'never' NOT NULL;--> statement-breakpoint
ALTER TABLE "tools" ADD COLUMN "confirm_rows" integer;--> statement-breakpoint
ALTER TABLE "tools" ADD COLUMN "two_step" boolean DEFAULT false NOT NULL;
ALTER TABLE "test_results" ADD COLUMN "error" text;--> statement-breakpoint
ALTER TABLE "test_results" ADD COLUMN "sqlstate" text;
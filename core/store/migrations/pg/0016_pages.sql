ALTER TABLE "tools" ADD COLUMN "max_tokens" integer;--> statement-breakpoint
ALTER TABLE "tools" ADD COLUMN "page_by" text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE "tools" ADD COLUMN "text_format" text DEFAULT 'json' NOT NULL;
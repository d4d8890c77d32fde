ALTER TABLE "tools" ADD COLUMN "files" text;--> statement-breakpoint
ALTER TABLE "toolsets" ADD COLUMN "files" boolean DEFAULT false NOT NULL;
ALTER TABLE "hosts" ADD COLUMN "address" text;--> statement-breakpoint
ALTER TABLE "hosts" ADD COLUMN "program_version" text;
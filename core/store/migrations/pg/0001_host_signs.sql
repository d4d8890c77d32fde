ALTER TABLE "hosts" ADD COLUMN "signed_at" double precision;--> statement-breakpoint
ALTER TABLE "hosts" ADD COLUMN "disk_fault" text;
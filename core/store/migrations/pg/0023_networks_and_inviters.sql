ALTER TABLE "people" ADD COLUMN "invited_by" text;--> statement-breakpoint
ALTER TABLE "identities" ADD COLUMN "invited_by" text;--> statement-breakpoint
ALTER TABLE "oauth_registrations" ADD COLUMN "network" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "oauth_requests" ADD COLUMN "network" text DEFAULT '' NOT NULL;
CREATE TABLE "used_assertions" (
	"digest" text PRIMARY KEY NOT NULL,
	"expires_at" text NOT NULL
);
--> statement-breakpoint
ALTER TABLE "identity_providers" ADD COLUMN "accept_assertions" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "identity_providers" ADD COLUMN "assertion_clients" text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE "identity_providers" ADD COLUMN "assertion_algorithms" text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE "oauth_grants" ADD COLUMN "kind" text;--> statement-breakpoint
CREATE INDEX "used_assertions_expiry" ON "used_assertions" USING btree ("expires_at");
CREATE TABLE "people" (
	"id" text PRIMARY KEY NOT NULL,
	"slot" integer,
	"username" text NOT NULL,
	"display_name" text,
	"email" text,
	"role" text NOT NULL,
	"groups" text NOT NULL,
	"enabled" boolean NOT NULL,
	"sign_in" text NOT NULL,
	"password_hash" text,
	"totp_secret" text,
	"totp_enabled" boolean NOT NULL,
	"totp_last_step" integer,
	"invite_digest" text,
	"invite_expires_at" text,
	"last_seen_at" text,
	"version" integer NOT NULL,
	"created_at" text NOT NULL,
	"updated_at" text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "people_slot" ON "people" USING btree ("slot");--> statement-breakpoint
CREATE UNIQUE INDEX "people_username" ON "people" USING btree ("username");--> statement-breakpoint
CREATE UNIQUE INDEX "people_invite" ON "people" USING btree ("invite_digest");--> statement-breakpoint
INSERT INTO "people" ("id", "slot", "username", "role", "groups", "enabled", "sign_in", "password_hash", "totp_secret", "totp_enabled", "totp_last_step", "last_seen_at", "version", "created_at", "updated_at")
SELECT "id", "slot", "username", 'owner', '[]', true, 'password', "password_hash", "totp_secret", "totp_enabled", "totp_last_step", (SELECT max("last_seen_at") FROM "sessions" WHERE "admin_id" = "admins"."id"), 1, "created_at", "updated_at" FROM "admins";--> statement-breakpoint
DROP TABLE "admins";--> statement-breakpoint
DROP INDEX "sessions_admin";--> statement-breakpoint
DROP INDEX "pending_logins_admin";--> statement-breakpoint
DROP INDEX "recovery_codes_admin";--> statement-breakpoint
ALTER TABLE "sessions" RENAME COLUMN "admin_id" TO "person_id";--> statement-breakpoint
ALTER TABLE "pending_logins" RENAME COLUMN "admin_id" TO "person_id";--> statement-breakpoint
ALTER TABLE "recovery_codes" RENAME COLUMN "admin_id" TO "person_id";--> statement-breakpoint
CREATE INDEX "sessions_person" ON "sessions" USING btree ("person_id");--> statement-breakpoint
CREATE INDEX "pending_logins_person" ON "pending_logins" USING btree ("person_id");--> statement-breakpoint
CREATE INDEX "recovery_codes_person" ON "recovery_codes" USING btree ("person_id");

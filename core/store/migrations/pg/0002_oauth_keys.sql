CREATE TABLE "ended_grants" (
	"id" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"value" text NOT NULL,
	"ended_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "signing_keys" (
	"kid" text PRIMARY KEY NOT NULL,
	"state" text NOT NULL,
	"public_key" text NOT NULL,
	"private_key" text,
	"created_at" text NOT NULL,
	"since" text NOT NULL
);

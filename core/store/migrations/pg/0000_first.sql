CREATE TABLE "meta" (
	"key" text PRIMARY KEY NOT NULL,
	"value" text NOT NULL
);
--> statement-breakpoint
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
	"invited_by" text,
	"last_seen_at" text,
	"version" integer NOT NULL,
	"created_at" text NOT NULL,
	"updated_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sessions" (
	"id" text PRIMARY KEY NOT NULL,
	"person_id" text NOT NULL,
	"ip" text,
	"user_agent" text,
	"created_at" text NOT NULL,
	"last_seen_at" text NOT NULL,
	"expires_at" text NOT NULL,
	"revoked_at" text
);
--> statement-breakpoint
CREATE TABLE "pending_logins" (
	"id" text PRIMARY KEY NOT NULL,
	"person_id" text NOT NULL,
	"attempts" integer NOT NULL,
	"expires_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "recovery_codes" (
	"code_hash" text PRIMARY KEY NOT NULL,
	"person_id" text NOT NULL,
	"created_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "connections" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"version" integer NOT NULL,
	"created_at" text NOT NULL,
	"updated_at" text NOT NULL,
	"db_type" text NOT NULL,
	"host" text,
	"port" integer,
	"database" text NOT NULL,
	"username" text,
	"password" text,
	"ssl_mode" text,
	"ssl_ca" text,
	"ssl_cert" text,
	"ssl_key" text,
	"extra_params" text NOT NULL,
	"enabled" boolean NOT NULL,
	"read_only" boolean NOT NULL,
	"pool_size" integer NOT NULL,
	"max_concurrency" integer,
	"queue_limit" integer NOT NULL,
	"queue_timeout_ms" integer NOT NULL,
	"query_timeout_ms" integer NOT NULL,
	"max_rows" integer NOT NULL,
	"max_bytes" integer NOT NULL,
	"session_values" text DEFAULT '[]' NOT NULL,
	"session_role" text
);
--> statement-breakpoint
CREATE TABLE "tools" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"version" integer NOT NULL,
	"created_at" text NOT NULL,
	"updated_at" text NOT NULL,
	"connection_id" text NOT NULL,
	"title" text,
	"description" text NOT NULL,
	"sql_query" text NOT NULL,
	"parameters" text NOT NULL,
	"tags" text NOT NULL,
	"return_type" text NOT NULL,
	"transform_template" text,
	"masks" text DEFAULT '[]' NOT NULL,
	"enabled" boolean NOT NULL,
	"read_only" boolean NOT NULL,
	"annotations" text NOT NULL,
	"timeout_ms" integer,
	"max_rows" integer,
	"cache_ttl_seconds" integer NOT NULL,
	"rate_limit_per_minute" integer,
	"max_bytes" integer,
	"max_tokens" integer,
	"page_by" text DEFAULT '[]' NOT NULL,
	"text_format" text DEFAULT 'json' NOT NULL,
	"max_affected_rows" integer,
	"confirm" text DEFAULT 'never' NOT NULL,
	"confirm_rows" integer,
	"two_step" boolean DEFAULT false NOT NULL,
	"ask_missing" boolean DEFAULT false NOT NULL,
	"log_arguments" boolean DEFAULT false NOT NULL,
	"view" text
);
--> statement-breakpoint
CREATE TABLE "resources" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"version" integer NOT NULL,
	"created_at" text NOT NULL,
	"updated_at" text NOT NULL,
	"connection_id" text NOT NULL,
	"title" text,
	"description" text NOT NULL,
	"uri_template" text NOT NULL,
	"sql_query" text NOT NULL,
	"parameters" text NOT NULL,
	"tags" text NOT NULL,
	"mime_type" text NOT NULL,
	"transform_template" text,
	"masks" text DEFAULT '[]' NOT NULL,
	"enabled" boolean NOT NULL
);
--> statement-breakpoint
CREATE TABLE "prompts" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"version" integer NOT NULL,
	"created_at" text NOT NULL,
	"updated_at" text NOT NULL,
	"connection_id" text,
	"title" text,
	"description" text NOT NULL,
	"template" text,
	"messages" text,
	"arguments" text NOT NULL,
	"tags" text NOT NULL,
	"enabled" boolean NOT NULL
);
--> statement-breakpoint
CREATE TABLE "toolsets" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"version" integer NOT NULL,
	"created_at" text NOT NULL,
	"updated_at" text NOT NULL,
	"title" text,
	"description" text NOT NULL,
	"instructions" text,
	"include" text NOT NULL,
	"exclude" text NOT NULL,
	"read_only" boolean NOT NULL,
	"groups" text NOT NULL,
	"enabled" boolean NOT NULL
);
--> statement-breakpoint
CREATE TABLE "compiled" (
	"entity_id" text PRIMARY KEY NOT NULL,
	"key" text NOT NULL,
	"digest" text NOT NULL,
	"artifact" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "server_config" (
	"id" integer PRIMARY KEY NOT NULL,
	"settings" text NOT NULL,
	"version" integer NOT NULL,
	"updated_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "history" (
	"id" text PRIMARY KEY NOT NULL,
	"entity_type" text NOT NULL,
	"entity_id" text NOT NULL,
	"entity_name" text NOT NULL,
	"action" text NOT NULL,
	"actor" text NOT NULL,
	"actor_name" text DEFAULT '' NOT NULL,
	"ip" text,
	"before" text,
	"after" text,
	"version_before" integer,
	"version_after" integer,
	"batch_id" text,
	"created_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "snapshots" (
	"version" integer PRIMARY KEY NOT NULL,
	"checksum" text NOT NULL,
	"content" text NOT NULL,
	"counts" text NOT NULL,
	"note" text,
	"actor" text NOT NULL,
	"created_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "blobs" (
	"hash" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"text" text NOT NULL,
	"since" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "changes" (
	"seq" bigint PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY (sequence name "changes_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"kind" text NOT NULL,
	"entity_id" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "deployment" (
	"id" integer PRIMARY KEY NOT NULL,
	"desired" text NOT NULL,
	"active_version" integer,
	"last_error" text,
	"deployed_at" text
);
--> statement-breakpoint
CREATE TABLE "candidates" (
	"id" text PRIMARY KEY NOT NULL,
	"checksum" text NOT NULL,
	"content" text NOT NULL,
	"counts" text NOT NULL,
	"note" text,
	"allowed" text NOT NULL,
	"actor" text NOT NULL,
	"created_at" text NOT NULL,
	"expires_at" text NOT NULL,
	"digest" text,
	"token_prefix" text
);
--> statement-breakpoint
CREATE TABLE "canaries" (
	"id" text PRIMARY KEY NOT NULL,
	"candidate_id" text NOT NULL,
	"own_candidate" boolean NOT NULL,
	"checksum" text NOT NULL,
	"status" text NOT NULL,
	"note" text,
	"allowed" text NOT NULL,
	"percent" integer NOT NULL,
	"minutes" integer NOT NULL,
	"max_error_rate" double precision,
	"max_p95_ratio" double precision,
	"min_calls" integer NOT NULL,
	"seed" text NOT NULL,
	"base_version" integer NOT NULL,
	"version" integer,
	"actor" text NOT NULL,
	"started_at" text NOT NULL,
	"ends_at" text NOT NULL,
	"ended_at" text,
	"reason" text
);
--> statement-breakpoint
CREATE TABLE "canary_sides" (
	"canary_id" text NOT NULL,
	"side" text NOT NULL,
	"calls" integer NOT NULL,
	"errors" integer NOT NULL,
	"histogram" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "request_logs" (
	"id" bigint PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY (sequence name "request_logs_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"timestamp" text NOT NULL,
	"kind" text NOT NULL,
	"name" text NOT NULL,
	"connection_id" text,
	"client" text,
	"token_prefix" text,
	"duration_ms" double precision NOT NULL,
	"wait_ms" double precision NOT NULL,
	"rows" integer NOT NULL,
	"success" boolean NOT NULL,
	"error" text,
	"snapshot_version" integer,
	"confirmation" text,
	"database_ms" double precision DEFAULT 0 NOT NULL,
	"bytes" double precision DEFAULT 0 NOT NULL,
	"tokens" integer DEFAULT 0 NOT NULL,
	"error_message" text,
	"sqlstate" text,
	"trace_id" text,
	"session_id" integer,
	"arguments" text,
	"truncated" boolean DEFAULT false NOT NULL,
	"canary" text,
	"ignored_arguments" text
);
--> statement-breakpoint
CREATE TABLE "mcp_sessions" (
	"id" bigint PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY (sequence name "mcp_sessions_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1 CYCLE),
	"key" text NOT NULL,
	"session" text,
	"client" text,
	"token_prefix" text,
	"person" text,
	"token" text,
	"client_id" text,
	"started_at" text NOT NULL,
	"last_at" text NOT NULL,
	"lists" integer DEFAULT 0 NOT NULL,
	"calls" integer NOT NULL,
	"errors" integer NOT NULL,
	"rows" double precision NOT NULL,
	"tokens" double precision NOT NULL
);
--> statement-breakpoint
CREATE TABLE "mcp_session_names" (
	"session_id" integer NOT NULL,
	"name" text NOT NULL,
	"calls" integer NOT NULL,
	"errors" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "mcp_lists" (
	"id" bigint PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY (sequence name "mcp_lists_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"session_id" integer NOT NULL,
	"timestamp" text NOT NULL,
	"method" text NOT NULL,
	"duration_ms" double precision NOT NULL
);
--> statement-breakpoint
CREATE TABLE "refusals" (
	"id" bigint PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY (sequence name "refusals_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"timestamp" text NOT NULL,
	"kind" text NOT NULL,
	"status" integer NOT NULL,
	"reason" text NOT NULL,
	"address" text,
	"client" text,
	"called" text
);
--> statement-breakpoint
CREATE TABLE "refusal_counts" (
	"hour" text NOT NULL,
	"kind" text NOT NULL,
	"count" double precision NOT NULL
);
--> statement-breakpoint
CREATE TABLE "usage_series" (
	"seconds" integer NOT NULL,
	"start" text NOT NULL,
	"kind" text NOT NULL,
	"name" text NOT NULL,
	"entity_id" text,
	"calls" integer NOT NULL,
	"errors" integer NOT NULL,
	"refused" integer DEFAULT 0 NOT NULL,
	"no_slot" integer DEFAULT 0 NOT NULL,
	"timeout" integer DEFAULT 0 NOT NULL,
	"cancelled" integer DEFAULT 0 NOT NULL,
	"rate_limited" integer DEFAULT 0 NOT NULL,
	"duration_ms" double precision NOT NULL,
	"rows" double precision NOT NULL,
	"bytes" double precision NOT NULL,
	"last_called_at" text NOT NULL,
	"histogram" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "caller_series" (
	"seconds" integer NOT NULL,
	"start" text NOT NULL,
	"kind" text NOT NULL,
	"name" text NOT NULL,
	"entity_id" text,
	"calls" integer NOT NULL,
	"errors" integer NOT NULL,
	"refused" integer DEFAULT 0 NOT NULL,
	"no_slot" integer DEFAULT 0 NOT NULL,
	"timeout" integer DEFAULT 0 NOT NULL,
	"cancelled" integer DEFAULT 0 NOT NULL,
	"rate_limited" integer DEFAULT 0 NOT NULL,
	"duration_ms" double precision NOT NULL,
	"rows" double precision NOT NULL,
	"bytes" double precision NOT NULL,
	"last_called_at" text NOT NULL,
	"histogram" text NOT NULL,
	"caller_id" integer NOT NULL,
	"connection_id" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "usage_callers" (
	"id" bigint PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY (sequence name "usage_callers_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1 CYCLE),
	"key" text NOT NULL,
	"client" text,
	"token_prefix" text,
	"person" text,
	"token" text,
	"client_id" text,
	"last_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "traffic" (
	"seconds" integer NOT NULL,
	"start" text NOT NULL,
	"cells" text NOT NULL,
	"sums" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "host_reports" (
	"boot_id" text PRIMARY KEY NOT NULL,
	"host_id" text NOT NULL,
	"seq" integer NOT NULL,
	"queues" text NOT NULL,
	"running" text,
	"reported_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "certificates" (
	"id" integer PRIMARY KEY NOT NULL,
	"directory" text,
	"domains" text NOT NULL,
	"chain" text,
	"private_key" text,
	"issuer" text,
	"valid_from" text,
	"valid_until" text,
	"renew_at" text,
	"requested_at" text,
	"forced" boolean NOT NULL,
	"failures" integer NOT NULL,
	"ordered_for" text,
	"last_error" text,
	"next_try_at" text
);
--> statement-breakpoint
CREATE TABLE "acme_accounts" (
	"directory" text PRIMARY KEY NOT NULL,
	"private_key" text NOT NULL,
	"url" text
);
--> statement-breakpoint
CREATE TABLE "hosts" (
	"id" text PRIMARY KEY NOT NULL,
	"server" text NOT NULL,
	"connection" text NOT NULL,
	"connected_at" text NOT NULL,
	"seen_at" double precision NOT NULL,
	"acks" integer NOT NULL,
	"url" text,
	"snapshot_version" integer,
	"checksum" text,
	"load_ms" double precision,
	"error" text,
	"probe" text,
	"probe_error" text
);
--> statement-breakpoint
CREATE TABLE "leases" (
	"name" text PRIMARY KEY NOT NULL,
	"holder" text NOT NULL,
	"until" double precision NOT NULL
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
--> statement-breakpoint
CREATE TABLE "ended_grants" (
	"seq" double precision,
	"id" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"value" text NOT NULL,
	"ended_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "identity_providers" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"version" integer NOT NULL,
	"created_at" text NOT NULL,
	"updated_at" text NOT NULL,
	"issuer" text NOT NULL,
	"client_id" text NOT NULL,
	"client_secret" text,
	"scopes" text NOT NULL,
	"groups_claim" text,
	"allowed_domains" text NOT NULL,
	"create_people" boolean NOT NULL,
	"default_role" text,
	"role_by_group" text NOT NULL,
	"enabled" boolean NOT NULL
);
--> statement-breakpoint
CREATE TABLE "identities" (
	"id" text PRIMARY KEY NOT NULL,
	"issuer" text NOT NULL,
	"subject" text NOT NULL,
	"person_id" text NOT NULL,
	"invited_by" text,
	"created_at" text NOT NULL,
	"last_used_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "provider_sign_ins" (
	"id" text PRIMARY KEY NOT NULL,
	"browser" text NOT NULL,
	"provider_id" text NOT NULL,
	"issuer" text NOT NULL,
	"redirect_uri" text NOT NULL,
	"return_to" text NOT NULL,
	"person_id" text,
	"expires_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "oauth_apps" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"version" integer NOT NULL,
	"created_at" text NOT NULL,
	"updated_at" text NOT NULL,
	"client_id" text NOT NULL,
	"redirect_uris" text NOT NULL,
	"confidential" boolean NOT NULL,
	"trusted" boolean NOT NULL,
	"secret_digest" text
);
--> statement-breakpoint
CREATE TABLE "oauth_registrations" (
	"client_id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"redirect_uris" text NOT NULL,
	"network" text DEFAULT '' NOT NULL,
	"created_at" text NOT NULL,
	"last_used_at" text
);
--> statement-breakpoint
CREATE TABLE "oauth_requests" (
	"id" text PRIMARY KEY NOT NULL,
	"browser" text NOT NULL,
	"client" text NOT NULL,
	"redirect_uri" text NOT NULL,
	"state" text,
	"scopes" text NOT NULL,
	"resource" text NOT NULL,
	"code_challenge" text NOT NULL,
	"network" text DEFAULT '' NOT NULL,
	"expires_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "oauth_codes" (
	"digest" text PRIMARY KEY NOT NULL,
	"client" text NOT NULL,
	"redirect_uri" text NOT NULL,
	"code_challenge" text NOT NULL,
	"resource" text NOT NULL,
	"scopes" text NOT NULL,
	"person_id" text NOT NULL,
	"grant_id" text NOT NULL,
	"spent" boolean NOT NULL,
	"expires_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "oauth_grants" (
	"id" text PRIMARY KEY NOT NULL,
	"person_id" text NOT NULL,
	"client_id" text NOT NULL,
	"client" text NOT NULL,
	"resource" text NOT NULL,
	"scopes" text NOT NULL,
	"created_at" text NOT NULL,
	"last_used_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "oauth_refresh" (
	"digest" text PRIMARY KEY NOT NULL,
	"grant_id" text NOT NULL,
	"rotated_at" text,
	"successor" text,
	"successor_digest" text,
	"expires_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "oauth_attempts" (
	"id" text PRIMARY KEY NOT NULL,
	"client" text NOT NULL,
	"client_id" text NOT NULL,
	"step" text NOT NULL,
	"reason" text,
	"person" text,
	"ip" text,
	"created_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "tests" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"version" integer NOT NULL,
	"created_at" text NOT NULL,
	"updated_at" text NOT NULL,
	"owner" text NOT NULL,
	"owner_id" text NOT NULL,
	"arguments" text NOT NULL,
	"caller" text,
	"expect" text NOT NULL,
	"enabled" boolean NOT NULL
);
--> statement-breakpoint
CREATE TABLE "test_results" (
	"id" text PRIMARY KEY NOT NULL,
	"test_id" text NOT NULL,
	"status" text NOT NULL,
	"ms" double precision NOT NULL,
	"rows" integer,
	"failures" text NOT NULL,
	"error" text,
	"sqlstate" text,
	"against" text NOT NULL,
	"actor" text NOT NULL,
	"created_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "notices" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"url" text NOT NULL,
	"events" text NOT NULL,
	"enabled" boolean NOT NULL,
	"secret" text NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" text NOT NULL,
	"updated_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "notice_deliveries" (
	"id" text PRIMARY KEY NOT NULL,
	"notice_id" text NOT NULL,
	"event" text NOT NULL,
	"body" text NOT NULL,
	"status" text NOT NULL,
	"attempts" integer NOT NULL,
	"response_status" integer,
	"error" text,
	"created_at" text NOT NULL,
	"last_attempt_at" text,
	"next_attempt_at" text
);
--> statement-breakpoint
CREATE TABLE "notice_events" (
	"id" bigint PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY (sequence name "notice_events_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"event" text NOT NULL,
	"data" text NOT NULL,
	"created_at" text NOT NULL,
	"actor_id" text,
	"key" text,
	"ended_at" text
);
--> statement-breakpoint
CREATE TABLE "notice_reads" (
	"person_id" text PRIMARY KEY NOT NULL,
	"event_id" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "proposals" (
	"id" text PRIMARY KEY NOT NULL,
	"title" text NOT NULL,
	"note" text,
	"status" text NOT NULL,
	"author" text NOT NULL,
	"gathers" text,
	"version" integer NOT NULL,
	"created_at" text NOT NULL,
	"updated_at" text NOT NULL,
	"closed_at" text,
	"closed_by" text,
	"closed" text
);
--> statement-breakpoint
CREATE TABLE "proposal_operations" (
	"id" text PRIMARY KEY NOT NULL,
	"proposal_id" text NOT NULL,
	"position" integer NOT NULL,
	"operation" text NOT NULL,
	"input" text NOT NULL,
	"note" text,
	"summary" text NOT NULL,
	"touched" text NOT NULL,
	"created_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "proposal_comments" (
	"id" text PRIMARY KEY NOT NULL,
	"proposal_id" text NOT NULL,
	"author" text NOT NULL,
	"text" text NOT NULL,
	"created_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "mcp_tokens" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"token_prefix" text NOT NULL,
	"digest" text NOT NULL,
	"secret_hash" text NOT NULL,
	"idle_timeout_minutes" integer,
	"last_used_at" text,
	"toolsets" text,
	"claims" text,
	"revoked" boolean NOT NULL,
	"revoked_at" text,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "agent_tokens" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"token_prefix" text NOT NULL,
	"digest" text NOT NULL,
	"scopes" text NOT NULL,
	"expires_at" text NOT NULL,
	"revoked" boolean NOT NULL,
	"last_used_at" text,
	"last_ip" text,
	"created_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "agent_clients" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"client_id" text NOT NULL,
	"secret_digest" text NOT NULL,
	"scopes" text NOT NULL,
	"idle_timeout_minutes" integer NOT NULL,
	"revoked" boolean NOT NULL,
	"last_used_at" text,
	"last_ip" text,
	"created_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "agent_families" (
	"id" text PRIMARY KEY NOT NULL,
	"client_row" text NOT NULL,
	"scopes" text NOT NULL,
	"revoked" boolean NOT NULL,
	"last_used_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "agent_grants" (
	"digest" text PRIMARY KEY NOT NULL,
	"family_id" text NOT NULL,
	"kind" text NOT NULL,
	"token_prefix" text NOT NULL,
	"spent" boolean NOT NULL,
	"expires_at" text
);
--> statement-breakpoint
CREATE TABLE "agent_activity" (
	"id" text PRIMARY KEY NOT NULL,
	"entry" text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "people_slot" ON "people" USING btree ("slot");--> statement-breakpoint
CREATE UNIQUE INDEX "people_username" ON "people" USING btree ("username");--> statement-breakpoint
CREATE UNIQUE INDEX "people_invite" ON "people" USING btree ("invite_digest");--> statement-breakpoint
CREATE INDEX "sessions_person" ON "sessions" USING btree ("person_id");--> statement-breakpoint
CREATE INDEX "pending_logins_person" ON "pending_logins" USING btree ("person_id");--> statement-breakpoint
CREATE INDEX "recovery_codes_person" ON "recovery_codes" USING btree ("person_id");--> statement-breakpoint
CREATE UNIQUE INDEX "connections_name" ON "connections" USING btree ("name");--> statement-breakpoint
CREATE UNIQUE INDEX "tools_name" ON "tools" USING btree ("name");--> statement-breakpoint
CREATE INDEX "tools_connection" ON "tools" USING btree ("connection_id");--> statement-breakpoint
CREATE UNIQUE INDEX "resources_name" ON "resources" USING btree ("name");--> statement-breakpoint
CREATE UNIQUE INDEX "resources_uri" ON "resources" USING btree ("uri_template");--> statement-breakpoint
CREATE INDEX "resources_connection" ON "resources" USING btree ("connection_id");--> statement-breakpoint
CREATE UNIQUE INDEX "prompts_name" ON "prompts" USING btree ("name");--> statement-breakpoint
CREATE INDEX "prompts_connection" ON "prompts" USING btree ("connection_id");--> statement-breakpoint
CREATE UNIQUE INDEX "toolsets_name" ON "toolsets" USING btree ("name");--> statement-breakpoint
CREATE INDEX "history_filters" ON "history" USING btree ("id","entity_type","entity_name","actor_name","action");--> statement-breakpoint
CREATE INDEX "history_action" ON "history" USING btree ("action","id","entity_type","entity_name","actor_name");--> statement-breakpoint
CREATE INDEX "history_entity" ON "history" USING btree ("entity_id","id","entity_type","entity_name","actor_name","action");--> statement-breakpoint
CREATE INDEX "history_actor" ON "history" USING btree ("actor_name","id","entity_type","entity_name","action");--> statement-breakpoint
CREATE INDEX "history_name" ON "history" USING btree ("entity_name");--> statement-breakpoint
CREATE INDEX "history_batch" ON "history" USING btree ("batch_id");--> statement-breakpoint
CREATE UNIQUE INDEX "canary_sides_key" ON "canary_sides" USING btree ("canary_id","side");--> statement-breakpoint
CREATE INDEX "request_logs_time" ON "request_logs" USING btree ("timestamp","id");--> statement-breakpoint
CREATE INDEX "request_logs_name" ON "request_logs" USING btree ("name","timestamp");--> statement-breakpoint
CREATE INDEX "request_logs_session" ON "request_logs" USING btree ("session_id","timestamp");--> statement-breakpoint
CREATE INDEX "request_logs_failed" ON "request_logs" USING btree ("timestamp","id","error") WHERE error is not null;--> statement-breakpoint
CREATE INDEX "request_logs_failed_name" ON "request_logs" USING btree ("name","timestamp") WHERE error is not null;--> statement-breakpoint
CREATE INDEX "request_logs_connection" ON "request_logs" USING btree ("connection_id","timestamp");--> statement-breakpoint
CREATE INDEX "request_logs_arguments" ON "request_logs" USING btree ("timestamp") WHERE arguments > '';--> statement-breakpoint
CREATE INDEX "request_logs_truncated" ON "request_logs" USING btree ("name","timestamp") WHERE truncated;--> statement-breakpoint
CREATE INDEX "request_logs_kind" ON "request_logs" USING btree ("kind","timestamp") WHERE kind <> 'tool';--> statement-breakpoint
CREATE INDEX "request_logs_canary" ON "request_logs" USING btree ("canary","timestamp") WHERE canary is not null;--> statement-breakpoint
CREATE INDEX "request_logs_failed_session" ON "request_logs" USING btree ("session_id","timestamp") WHERE error is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "mcp_sessions_key" ON "mcp_sessions" USING btree ("key","started_at");--> statement-breakpoint
CREATE INDEX "mcp_sessions_time" ON "mcp_sessions" USING btree ("last_at","id");--> statement-breakpoint
CREATE INDEX "mcp_sessions_client" ON "mcp_sessions" USING btree ("client","last_at");--> statement-breakpoint
CREATE UNIQUE INDEX "mcp_session_names_key" ON "mcp_session_names" USING btree ("name","session_id");--> statement-breakpoint
CREATE INDEX "mcp_session_names_session" ON "mcp_session_names" USING btree ("session_id");--> statement-breakpoint
CREATE INDEX "mcp_lists_session" ON "mcp_lists" USING btree ("session_id","timestamp");--> statement-breakpoint
CREATE INDEX "mcp_lists_time" ON "mcp_lists" USING btree ("timestamp");--> statement-breakpoint
CREATE UNIQUE INDEX "refusal_counts_key" ON "refusal_counts" USING btree ("hour","kind");--> statement-breakpoint
CREATE UNIQUE INDEX "usage_series_key" ON "usage_series" USING btree ("seconds","start","kind","name");--> statement-breakpoint
CREATE UNIQUE INDEX "caller_series_key" ON "caller_series" USING btree ("seconds","start","caller_id","kind","name","connection_id");--> statement-breakpoint
CREATE INDEX "caller_series_caller" ON "caller_series" USING btree ("caller_id","seconds","start");--> statement-breakpoint
CREATE UNIQUE INDEX "usage_callers_key" ON "usage_callers" USING btree ("key");--> statement-breakpoint
CREATE INDEX "usage_callers_time" ON "usage_callers" USING btree ("last_at");--> statement-breakpoint
CREATE UNIQUE INDEX "traffic_key" ON "traffic" USING btree ("seconds","start");--> statement-breakpoint
CREATE INDEX "host_reports_time" ON "host_reports" USING btree ("reported_at");--> statement-breakpoint
CREATE UNIQUE INDEX "identity_providers_name" ON "identity_providers" USING btree ("name");--> statement-breakpoint
CREATE UNIQUE INDEX "identities_subject" ON "identities" USING btree ("issuer","subject");--> statement-breakpoint
CREATE INDEX "identities_person" ON "identities" USING btree ("person_id");--> statement-breakpoint
CREATE INDEX "provider_sign_ins_expiry" ON "provider_sign_ins" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "oauth_apps_client_id" ON "oauth_apps" USING btree ("client_id");--> statement-breakpoint
CREATE UNIQUE INDEX "oauth_apps_name" ON "oauth_apps" USING btree ("name");--> statement-breakpoint
CREATE INDEX "oauth_registrations_made" ON "oauth_registrations" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "oauth_requests_expiry" ON "oauth_requests" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "oauth_codes_expiry" ON "oauth_codes" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "oauth_grants_person" ON "oauth_grants" USING btree ("person_id");--> statement-breakpoint
CREATE INDEX "oauth_grants_client" ON "oauth_grants" USING btree ("client_id");--> statement-breakpoint
CREATE INDEX "oauth_refresh_grant" ON "oauth_refresh" USING btree ("grant_id");--> statement-breakpoint
CREATE INDEX "oauth_refresh_expiry" ON "oauth_refresh" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "tests_name" ON "tests" USING btree ("name");--> statement-breakpoint
CREATE INDEX "tests_owner" ON "tests" USING btree ("owner_id");--> statement-breakpoint
CREATE INDEX "test_results_test" ON "test_results" USING btree ("test_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "notices_name" ON "notices" USING btree ("name");--> statement-breakpoint
CREATE INDEX "notice_deliveries_due" ON "notice_deliveries" USING btree ("status","next_attempt_at");--> statement-breakpoint
CREATE INDEX "notice_deliveries_notice" ON "notice_deliveries" USING btree ("notice_id","id");--> statement-breakpoint
CREATE INDEX "notice_events_event" ON "notice_events" USING btree ("event","id");--> statement-breakpoint
CREATE UNIQUE INDEX "notice_events_open" ON "notice_events" USING btree ("key") WHERE ended_at is null;--> statement-breakpoint
CREATE UNIQUE INDEX "proposals_gathers" ON "proposals" USING btree ("gathers");--> statement-breakpoint
CREATE INDEX "proposals_status" ON "proposals" USING btree ("status","id");--> statement-breakpoint
CREATE UNIQUE INDEX "proposal_operations_position" ON "proposal_operations" USING btree ("proposal_id","position");--> statement-breakpoint
CREATE INDEX "proposal_comments_proposal" ON "proposal_comments" USING btree ("proposal_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "mcp_tokens_digest" ON "mcp_tokens" USING btree ("digest");--> statement-breakpoint
CREATE UNIQUE INDEX "agent_tokens_digest" ON "agent_tokens" USING btree ("digest");--> statement-breakpoint
CREATE UNIQUE INDEX "agent_clients_client_id" ON "agent_clients" USING btree ("client_id");--> statement-breakpoint
CREATE INDEX "agent_families_client" ON "agent_families" USING btree ("client_row");--> statement-breakpoint
CREATE INDEX "agent_families_used" ON "agent_families" USING btree ("last_used_at");--> statement-breakpoint
CREATE INDEX "agent_grants_family" ON "agent_grants" USING btree ("family_id");
import * as v from 'valibot';
import { integerBetween, textBetween } from '../fields.ts';
import { field } from '../marks.ts';
import { AuditDaysPatch, AuditSyslog, DEFAULT_AUDIT_DAYS } from './audit-settings.ts';
import { DEFAULT_GATES, DeployGatesPatch } from './deploy-gates.ts';
import { LINT_RULE_NAMES, LINT_RULES, LintRule } from './lint-rules.ts';
import { SecretRef } from '../fields.ts';
import { DnsProvider, Domain, MOST_TOKEN_DAYS } from './setting-values.ts';

/** Settings that take effect immediately. */
export const liveSettings = {
  ssl_enabled: field(v.boolean(), { label: 'HTTPS enabled', help: 'The domain must resolve to this server.', default: false }),
  ui_domain: field(v.nullable(Domain), { label: 'UI domain', control: 'mono', placeholder: 'sluice.example.com', default: null }),
  mcp_domain: field(v.nullable(Domain), {
    label: 'MCP domain',
    help: 'Leave empty to use the UI domain.',
    control: 'mono',
    placeholder: 'mcp.example.com',
    default: null,
  }),
  mcp_proxy: field(v.boolean(), {
    label: 'MCP on the front port',
    help: 'Serves /mcp on the front port too, so clients need one address and one certificate.',
    default: false,
  }),
  approvals: field(integerBetween(0, 1), {
    label: 'Approvals of dangerous changes',
    help: 'Such as weaker authentication, removed masks, weaker deploy gates and new administrators.',
    control: 'cards',
    choices: {
      0: { label: 'One person', help: 'Sluice asks for the password or a code if the sign-in is older than ten minutes.' },
      1: { label: 'Two people', help: 'One administrator proposes the change, another one approves it.' },
    },
    default: 0,
  }),
  min_tls_version: field(v.picklist(['1.2', '1.3']), {
    label: 'Minimum TLS version',
    help: 'Older versions are refused on the HTTPS port. Takes effect with the next handshake; open connections continue.',
    choices: {
      '1.2': { label: 'TLS 1.2', help: 'Accepts every client in use.' },
      '1.3': { label: 'TLS 1.3', help: 'Refuses clients from before 2018.' },
    },
    default: '1.2',
  }),
  acme_email: field(v.nullable(v.pipe(textBetween(3, 254), v.email('must be an email address'))), {
    label: 'Contact email',
    help: 'Contact of the account at the certificate authority. Let’s Encrypt sends no warnings, so use a webhook for the event Certificate.',
    control: 'email',
    default: null,
  }),
  acme_challenge: field(v.picklist(['http-01', 'dns-01']), {
    label: 'Domain validation',
    control: 'cards',
    choices: {
      'http-01': { label: 'HTTP-01', help: 'Port 80 of the domain must reach this server.' },
      'dns-01': { label: 'DNS-01', help: 'Sluice creates a TXT record at your DNS provider. No port has to be open.' },
    },
    default: 'http-01',
  }),
  dns_provider: field(v.nullable(DnsProvider), {
    label: 'DNS provider',
    choices: {
      null: { label: 'Choose a provider' },
      cloudflare: { label: 'Cloudflare' },
      route53: { label: 'Amazon Route 53' },
    },
    default: null,
  }),
  auto_renew: field(v.boolean(), {
    label: 'Automatic renewal',
    help: 'Renews the certificate before it expires.',
    default: true,
  }),
  prompt_guard_enabled: field(v.boolean(), {
    label: 'Prompt guard enabled',
    help: 'Rejects definitions that contain a prompt injection.',
    default: true,
  }),
  prompt_guard_threshold: field(v.picklist(['low', 'medium', 'high']), {
    label: 'Minimum severity',
    control: 'cards',
    choices: {
      low: { label: 'Low', help: 'Anything unusual. Expect false positives.' },
      medium: { label: 'Medium', help: 'Text that reads like an instruction to a model.' },
      high: { label: 'High', help: 'Only text that is almost never harmless.' },
    },
    default: 'medium',
  }),
  prompt_guard_allow: field(v.pipe(v.array(textBetween(1, 100)), v.maxLength(500)), {
    label: 'Disabled rules and allowed texts',
    help: 'Names of rules that are skipped, and keys of texts that the model skips. Findings contain both as allow.',
    default: () => [],
  }),
  deploy_gates: field(DeployGatesPatch, {
    label: 'Deploy gates',
    help: 'What each check does with its findings at a deploy: nothing, warn, or block it.',
    default: () => ({ ...DEFAULT_GATES }),
  }),
  drift_check_minutes: field(integerBetween(0, 10_080), {
    label: 'Drift check',
    unit: 'min',
    help: 'How often deployed statements are checked against their databases, besides after each deploy. 0 turns the check off.',
    default: 60,
  }),
  lint_off: field(v.pipe(v.array(LintRule), v.maxLength(LINT_RULE_NAMES.length)), {
    label: 'Disabled lint rules',
    help: 'Their findings are not shown, to people or agents. Defaults to none.',
    choices: LINT_RULES,
    default: () => [],
  }),
  oauth_access_minutes: field(integerBetween(5, 1_440), {
    label: 'Access token lifetime',
    unit: 'min',
    help: 'How long a token of a signed-in person works. Clients renew it automatically.',
    default: 60,
  }),
  oauth_refresh_days: field(integerBetween(1, 90), {
    label: 'Stay signed in',
    unit: 'days',
    help: 'A client that is not used for this long must sign in again.',
    default: 30,
  }),
  oauth_grant_days: field(integerBetween(1, 366), {
    label: 'Sign in again after',
    unit: 'days',
    help: 'A client must sign in again this long after a person approved it, however often it is used.',
    default: 90,
  }),
  token_default_days: field(integerBetween(1, MOST_TOKEN_DAYS), {
    label: 'Lifetime of tokens',
    unit: 'days',
    help: 'How long new access tokens and secrets of OAuth clients and apps work if nothing else is chosen, at most SVC_TOKEN_MAX_DAYS.',
    default: 90,
  }),
  dynamic_registration: field(v.boolean(), {
    label: 'Client registration',
    help: 'Lets clients register themselves (RFC 7591). Cursor and many others need it.',
    default: true,
  }),
  password_sign_in: field(v.boolean(), {
    label: 'Sign in with a password',
    help: 'When off, people sign in through identity providers only. The command line can turn it on again.',
    default: true,
  }),
  log_arguments_hours: field(integerBetween(1, 720), {
    label: 'Retention of logged arguments',
    unit: 'h',
    help: 'Arguments of tools with Log arguments are deleted from the request log after this time. The calls stay.',
    default: 24,
  }),
  audit_retention_days: field(AuditDaysPatch, {
    label: 'Audit log retention',
    unit: 'days',
    help: 'How long the audit log keeps the entries of each kind. A signed head says what was deleted. Defaults to 365 for each.',
    default: () => ({ ...DEFAULT_AUDIT_DAYS }),
  }),
  audit_syslog: field(v.nullable(AuditSyslog), {
    label: 'Syslog server',
    help: 'Receives each entry and signed head of the audit log from now on (RFC 5424, over TLS with RFC 5425). Defaults to none.',
    default: null,
  }),
  audit_otlp: field(v.boolean(), {
    label: 'Send the audit log to OTLP',
    help: 'Sends each entry and signed head from now on as a log record to SVC_OTLP_ENDPOINT.',
    default: false,
  }),
  secret_refs: field(v.pipe(v.array(SecretRef.entries.ref), v.maxLength(100)), {
    label: 'Allowed secret references',
    control: 'lines',
    placeholder: 'file:/run/secrets/',
    help: 'Beginnings of the references that can stand for secrets. Everyone who edits connections can use these secrets. Defaults to none.',
    default: () => [],
  }),
  agent_enabled: field(v.boolean(), {
    label: 'Agent endpoint enabled',
    help: 'When disabled, every call gets 403. Tokens work again once it is enabled.',
    default: true,
  }),
  agent_rate_limit: field(integerBetween(1, 1_000_000), {
    label: 'Agent rate limit',
    unit: 'requests per minute',
    help: 'For each token, over MCP and REST together.',
    default: 120,
  }),
};

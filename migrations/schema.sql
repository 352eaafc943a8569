-- Written by scripts/dump-schema.ts from the catalogue of a migrated database; do not edit, do not run.

type enqueued (
  id uuid
  state text
  created boolean
)

type facts (
  needs boolean
  due boolean
  open boolean
  confirmed boolean
  cancel boolean
  left boolean
  tried boolean
  resume boolean
  receipt boolean
  inbox boolean
  verdict boolean
  probe boolean
  checks boolean
  resendable boolean
  resolvable boolean
  retryable boolean
  reentrant boolean
  submits boolean
  done boolean
  again boolean
  counts boolean
  withdrawable boolean
  proof_since boolean
  no_way boolean
)

table acceptance (
  task_id uuid not null
  step text not null
  check_no integer not null
  at timestamp with time zone not null
  found boolean
  ours boolean
  minimum boolean
  detail jsonb default '{}'::jsonb not null
  constraint acceptance_pkey PRIMARY KEY (task_id, step, check_no)
  constraint acceptance_task_id_step_fkey FOREIGN KEY (task_id, step) REFERENCES step(task_id, name)
)
CREATE TRIGGER acceptance_append_only BEFORE UPDATE ON acceptance FOR EACH ROW EXECUTE FUNCTION _append_only()
CREATE TRIGGER acceptance_pruned BEFORE DELETE ON acceptance FOR EACH ROW EXECUTE FUNCTION _delete_pruned()

table api_token (
  id uuid not null
  name text not null
  hash text not null
  role text not null
  types text[] default '{}'::text[] not null
  created_at timestamp with time zone not null
  created_by text not null
  expires_at timestamp with time zone
  revoked_at timestamp with time zone
  revoked_by text
  used_at timestamp with time zone
  constraint api_token_pkey PRIMARY KEY (id)
  constraint api_token_hash_key UNIQUE (hash)
  constraint api_token_created_by_check CHECK (((length(created_by) >= 1) AND (length(created_by) <= 200)))
  constraint api_token_hash_check CHECK ((hash ~ '^[0-9a-f]{64}$'::text))
  constraint api_token_name_check CHECK ((name ~ '^[a-z0-9][a-z0-9._-]{0,62}$'::text))
  constraint api_token_revoked_by_check CHECK (((length(revoked_by) >= 1) AND (length(revoked_by) <= 200)))
  constraint api_token_role_check CHECK ((role = ANY (ARRAY['caller'::text, 'reviewer'::text, 'operator'::text, 'platform'::text, 'reader'::text, 'admin'::text])))
  constraint api_token_types_check CHECK ((cardinality(types) <= 100))
)
CREATE UNIQUE INDEX api_token_name ON api_token USING btree (name) WHERE (revoked_at IS NULL)

table artifact (
  task_id uuid not null
  step text not null
  name text not null
  sha256 text not null
  uri text not null
  media_type text not null
  bytes bigint not null
  attempt integer not null
  epoch bigint not null
  at timestamp with time zone not null
  constraint artifact_pkey PRIMARY KEY (task_id, step, name, sha256)
  constraint artifact_task_id_step_fkey FOREIGN KEY (task_id, step) REFERENCES step(task_id, name)
  constraint artifact_bytes_check CHECK ((bytes >= 0))
  constraint artifact_media_type_check CHECK ((length(media_type) <= 200))
  constraint artifact_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)))
  constraint artifact_sha256_check CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text))
  constraint artifact_uri_check CHECK ((length(uri) <= 1000))
)
CREATE INDEX artifact_sha256 ON artifact USING btree (sha256)

table artifact_orphan (
  sha256 text not null
  uri text not null
  since timestamp with time zone not null
  taken_at timestamp with time zone
  hold_ms bigint
  constraint artifact_orphan_pkey PRIMARY KEY (sha256)
  constraint artifact_orphan_check CHECK (((taken_at IS NULL) = (hold_ms IS NULL)))
  constraint artifact_orphan_sha256_check CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text))
  constraint artifact_orphan_uri_check CHECK ((length(uri) <= 1000))
)

table bulk (
  id uuid not null
  no bigint generated always as identity not null
  kind text not null
  filter jsonb not null
  by text not null
  why text not null
  options jsonb not null
  rate_per_s numeric not null
  status text default 'planned'::text not null
  created_at timestamp with time zone not null
  next_at timestamp with time zone
  applied_at timestamp with time zone
  applied_by text
  aborted_at timestamp with time zone
  aborted_by text
  aborted_why text
  ended_at timestamp with time zone
  constraint bulk_pkey PRIMARY KEY (id)
  constraint bulk_no_key UNIQUE (no)
  constraint bulk_aborted_by_check CHECK (((length(aborted_by) >= 1) AND (length(aborted_by) <= 200)))
  constraint bulk_aborted_why_check CHECK (((length(aborted_why) >= 1) AND (length(aborted_why) <= 2000)))
  constraint bulk_applied_by_check CHECK (((length(applied_by) >= 1) AND (length(applied_by) <= 200)))
  constraint bulk_by_check CHECK (((length(by) >= 1) AND (length(by) <= 200)))
  constraint bulk_check CHECK (((status = 'running'::text) = (next_at IS NOT NULL)))
  constraint bulk_check1 CHECK (((status = ANY (ARRAY['aborted'::text, 'done'::text])) = (ended_at IS NOT NULL)))
  constraint bulk_kind_check CHECK ((kind = ANY (ARRAY['replay'::text, 'cancel'::text])))
  constraint bulk_rate_per_s_check CHECK ((rate_per_s > (0)::numeric))
  constraint bulk_status_check CHECK ((status = ANY (ARRAY['planned'::text, 'running'::text, 'aborted'::text, 'done'::text])))
  constraint bulk_why_check CHECK (((length(why) >= 1) AND (length(why) <= 2000)))
)
CREATE INDEX bulk_running ON bulk USING btree (next_at) WHERE (status = 'running'::text)

table bulk_item (
  bulk_id uuid not null
  ordinal integer not null
  task_id uuid not null
  step text
  found jsonb not null
  foreseen jsonb not null
  result text default 'pending'::text not null
  code text
  details jsonb default '{}'::jsonb not null
  tries integer default 0 not null
  at timestamp with time zone
  constraint bulk_item_pkey PRIMARY KEY (bulk_id, ordinal)
  constraint bulk_item_bulk_id_task_id_step_key UNIQUE NULLS NOT DISTINCT (bulk_id, task_id, step)
  constraint bulk_item_bulk_id_fkey FOREIGN KEY (bulk_id) REFERENCES bulk(id)
  constraint bulk_item_check CHECK (((result = 'refused'::text) = (code IS NOT NULL)))
  constraint bulk_item_check1 CHECK (((result = 'pending'::text) = (at IS NULL)))
  constraint bulk_item_code_check CHECK ((length(code) <= 63))
  constraint bulk_item_result_check CHECK ((result = ANY (ARRAY['pending'::text, 'done'::text, 'refused'::text, 'skipped'::text])))
  constraint bulk_item_step_check CHECK (((length(step) >= 1) AND (length(step) <= 63)))
)
CREATE INDEX bulk_item_pending ON bulk_item USING btree (bulk_id, tries, ordinal) WHERE (result = 'pending'::text)
CREATE INDEX bulk_item_result ON bulk_item USING btree (bulk_id, result, code)

table cancel (
  task_id uuid not null
  id text not null
  verb text default 'cancel'::text not null
  step text
  by text not null
  why text not null
  at timestamp with time zone not null
  constraint cancel_pkey PRIMARY KEY (task_id, id)
  constraint cancel_task_id_fkey FOREIGN KEY (task_id) REFERENCES task(id)
  constraint cancel_by_check CHECK (((length(by) >= 1) AND (length(by) <= 200)))
  constraint cancel_id_check CHECK (((length(id) >= 1) AND (length(id) <= 200)))
  constraint cancel_step_check CHECK ((length(step) <= 63))
  constraint cancel_verb_check CHECK ((verb = ANY (ARRAY['cancel'::text, 'withdraw'::text, 'abandon_wait'::text])))
  constraint cancel_why_check CHECK (((length(why) >= 1) AND (length(why) <= 2000)))
)

table cancel_step (
  task_id uuid not null
  cancel_id text not null
  step text not null
  follows text
  found text not null
  in_flight jsonb default '[]'::jsonb not null
  verdict text not null
  reason text
  verdict_at timestamp with time zone
  deadline_at timestamp with time zone
  constraint cancel_step_pkey PRIMARY KEY (task_id, cancel_id, step)
  constraint cancel_step_reason_fkey FOREIGN KEY (reason) REFERENCES reason(code)
  constraint cancel_step_task_id_cancel_id_fkey FOREIGN KEY (task_id, cancel_id) REFERENCES cancel(task_id, id)
  constraint cancel_step_verdict_check CHECK ((verdict = ANY (ARRAY['pending'::text, 'prevented'::text, 'stopped_at_boundary'::text, 'too_late'::text, 'withdrawn'::text, 'needs_person'::text, 'already_terminal'::text])))
)
CREATE INDEX cancel_step_pending ON cancel_step USING btree (deadline_at) WHERE (verdict = 'pending'::text)

table checkpoint (
  task_id uuid not null
  step text not null
  name text not null
  value jsonb not null
  attempt integer not null
  epoch bigint not null
  at timestamp with time zone not null
  constraint checkpoint_pkey PRIMARY KEY (task_id, step, name)
  constraint checkpoint_task_id_step_fkey FOREIGN KEY (task_id, step) REFERENCES step(task_id, name)
  constraint checkpoint_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)))
)

table clock (
  one boolean default true not null
  shift interval default '00:00:00'::interval not null
  constraint clock_pkey PRIMARY KEY (one)
  constraint clock_one_check CHECK (one)
)

table dedupe (
  type text not null
  key text not null
  task_id uuid not null
  digest text not null
  digests jsonb not null
  at timestamp with time zone not null
  constraint dedupe_pkey PRIMARY KEY (type, key)
  constraint dedupe_digest_check CHECK ((length(digest) = 64))
  constraint dedupe_key_check CHECK (((length(key) >= 1) AND (length(key) <= 512)))
)

table drift (
  one boolean default true not null
  after uuid
  started_at timestamp with time zone default '-infinity'::timestamp with time zone not null
  turn_at timestamp with time zone default '-infinity'::timestamp with time zone not null
  terminations_since timestamp with time zone default clock_timestamp() not null
  constraint drift_pkey PRIMARY KEY (one)
  constraint drift_one_check CHECK (one)
)

table effect (
  id uuid default uuidv7() not null
  task_id uuid not null
  step text not null
  name text not null
  item text default ''::text not null
  generation integer not null
  kind text default 'effect'::text not null
  key text not null
  thread_id text not null
  submits boolean not null
  dedupe_window_ms bigint
  visible_within_ms bigint not null
  absence_is_proof boolean not null
  timeout_ms bigint not null
  live boolean default true not null
  status text default 'open'::text not null
  absent_established boolean default false not null
  absent_looks integer default 0 not null
  done boolean default false not null
  digest text
  external_id text
  result jsonb
  note jsonb
  first_intent_at timestamp with time zone not null
  last_intent_at timestamp with time zone not null
  closed_at timestamp with time zone
  constraint effect_pkey PRIMARY KEY (id)
  constraint effect_task_id_step_name_item_generation_key UNIQUE (task_id, step, name, item, generation)
  constraint effect_task_id_step_fkey FOREIGN KEY (task_id, step) REFERENCES step(task_id, name)
  constraint effect_digest_check CHECK ((length(digest) <= 64))
  constraint effect_external_id_check CHECK ((length(external_id) <= 500))
  constraint effect_generation_check CHECK ((generation >= 1))
  constraint effect_item_check CHECK ((length(item) <= 200))
  constraint effect_key_check CHECK ((length(key) <= 600))
  constraint effect_kind_check CHECK ((kind = ANY (ARRAY['effect'::text, 'withdrawal'::text])))
  constraint effect_name_check CHECK (((length(name) >= 1) AND (length(name) <= 63)))
  constraint effect_status_check CHECK ((status = ANY (ARRAY['open'::text, 'confirmed'::text, 'refused'::text, 'not_sent'::text, 'absent'::text, 'failed'::text, 'withdrawn'::text, 'voided'::text, 'lost'::text])))
  constraint effect_thread_id_check CHECK ((length(thread_id) <= 200))
)
CREATE UNIQUE INDEX effect_live ON effect USING btree (task_id, step, name, item) WHERE live

table ledger_gap (
  one boolean default true not null
  ended_at timestamp with time zone default '-infinity'::timestamp with time zone not null
  reported_by text
  constraint ledger_gap_pkey PRIMARY KEY (one)
  constraint ledger_gap_one_check CHECK (one)
  constraint ledger_gap_reported_by_check CHECK ((length(reported_by) <= 300))
)

table notification (
  id uuid default uuidv7() not null
  webhook_id uuid not null
  event text not null
  task_id uuid
  step text
  subject text not null
  window_key text not null
  at timestamp with time zone not null
  facts jsonb not null
  body text
  status text default 'pending'::text not null
  takes integer default 0 not null
  attempts integer default 0 not null
  not_before timestamp with time zone not null
  taken_until timestamp with time zone default '-infinity'::timestamp with time zone not null
  http_status integer
  last_error text
  ended_at timestamp with time zone
  constraint notification_pkey PRIMARY KEY (id)
  constraint notification_subject_event_window_key_webhook_id_key UNIQUE (subject, event, window_key, webhook_id)
  constraint notification_webhook_id_fkey FOREIGN KEY (webhook_id) REFERENCES webhook(id)
  constraint notification_body_check CHECK ((length(body) <= 65536))
  constraint notification_event_check CHECK ((event ~ '^[a-z_]{1,30}\.[a-z_]{1,30}$'::text))
  constraint notification_last_error_check CHECK ((length(last_error) <= 1000))
  constraint notification_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'sent'::text, 'parked'::text, 'dropped'::text])))
  constraint notification_step_check CHECK ((length(step) <= 63))
  constraint notification_subject_check CHECK (((length(subject) >= 1) AND (length(subject) <= 200)))
  constraint notification_window_key_check CHECK (((length(window_key) >= 1) AND (length(window_key) <= 100)))
)
CREATE INDEX notification_due ON notification USING btree (webhook_id, not_before) WHERE (status = 'pending'::text)
CREATE INDEX notification_list ON notification USING btree (webhook_id, id)
CREATE INDEX notification_task ON notification USING btree (task_id) WHERE (task_id IS NOT NULL)

table outbox (
  task_id uuid not null
  version bigint default 1 not null
  not_before timestamp with time zone not null
  taken_until timestamp with time zone default '-infinity'::timestamp with time zone not null
  attempts integer default 0 not null
  forced boolean default false not null
  last_error text
  parked_at timestamp with time zone
  constraint outbox_pkey PRIMARY KEY (task_id)
  constraint outbox_task_id_fkey FOREIGN KEY (task_id) REFERENCES task(id)
  constraint outbox_last_error_check CHECK ((length(last_error) <= 1000))
) with (fillfactor=70)
CREATE INDEX outbox_due ON outbox USING btree (not_before) WHERE (parked_at IS NULL)

table parent_rule (
  ordinal smallint not null
  status text not null
  quantifier text not null
  states text[] not null
  constraint parent_rule_pkey PRIMARY KEY (ordinal)
  constraint parent_rule_status_key UNIQUE (status)
  constraint parent_rule_quantifier_check CHECK ((quantifier = ANY (ARRAY['any'::text, 'all'::text, 'otherwise'::text])))
)

table pruned (
  task_id uuid not null
  type text not null
  version integer not null
  key text
  status text not null
  reason text not null
  seq bigint not null
  steps jsonb not null
  counts jsonb not null
  created_at timestamp with time zone not null
  created_by text not null
  ended_at timestamp with time zone not null
  again_of uuid
  again_as uuid
  chain_head text not null
  pruned_at timestamp with time zone not null
  pruned_by text not null
  xid xid8 not null
  constraint pruned_pkey PRIMARY KEY (task_id)
  constraint pruned_again_of_key UNIQUE (again_of)
  constraint pruned_reason_fkey FOREIGN KEY (reason) REFERENCES reason(code)
  constraint pruned_status_fkey FOREIGN KEY (status) REFERENCES parent_rule(status)
  constraint pruned_chain_head_check CHECK ((chain_head ~ '^[0-9a-f]{64}$'::text))
  constraint pruned_created_by_check CHECK ((length(created_by) <= 200))
  constraint pruned_key_check CHECK (((length(key) >= 1) AND (length(key) <= 512)))
  constraint pruned_pruned_by_check CHECK (((length(pruned_by) >= 1) AND (length(pruned_by) <= 200)))
  constraint pruned_type_check CHECK ((length(type) <= 63))
  constraint pruned_whole TRIGGER DEFERRABLE INITIALLY DEFERRED
)
CREATE TRIGGER pruned_append_only BEFORE DELETE OR UPDATE ON pruned FOR EACH ROW EXECUTE FUNCTION _append_only()
CREATE TRIGGER pruned_no_truncate BEFORE TRUNCATE ON pruned FOR EACH STATEMENT EXECUTE FUNCTION _append_only()
CREATE TRIGGER pruned_summary BEFORE INSERT ON pruned FOR EACH ROW EXECUTE FUNCTION _pruned_summary()
CREATE CONSTRAINT TRIGGER pruned_whole AFTER INSERT ON pruned DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION _pruned_whole()

table reason (
  code text not null
  cancel_verdict text
  ended_by text
  constraint reason_pkey PRIMARY KEY (code)
  constraint reason_cancel_verdict_check CHECK ((cancel_verdict = ANY (ARRAY['prevented'::text, 'stopped_at_boundary'::text, 'too_late'::text, 'withdrawn'::text, 'needs_person'::text])))
  constraint reason_code_check CHECK ((code ~ '^[a-z_]{1,63}$'::text))
  constraint reason_ended_by_check CHECK ((ended_by = ANY (ARRAY['user'::text, 'protection'::text, 'success'::text])))
)

table receipt (
  id uuid default uuidv7() not null
  delivery_id text not null
  sender text not null
  content_digest text not null
  as_sent jsonb
  task_ref text not null
  task_id uuid
  step text not null
  thread_id text
  in_reply_to text
  kind text not null
  external_id text
  code text
  artifact jsonb
  body jsonb default '{}'::jsonb not null
  received_at timestamp with time zone not null
  deliveries integer default 1 not null
  verdict text
  verdict_at timestamp with time zone
  verdict_facts jsonb default '{}'::jsonb not null
  effect_id uuid
  applied_at timestamp with time zone
  constraint receipt_pkey PRIMARY KEY (id)
  constraint receipt_sender_delivery_id_content_digest_key UNIQUE (sender, delivery_id, content_digest)
  constraint receipt_effect_id_fkey FOREIGN KEY (effect_id) REFERENCES effect(id)
  constraint receipt_code_check CHECK ((length(code) <= 200))
  constraint receipt_delivery_id_check CHECK (((length(delivery_id) >= 1) AND (length(delivery_id) <= 200)))
  constraint receipt_external_id_check CHECK ((length(external_id) <= 500))
  constraint receipt_in_reply_to_check CHECK ((length(in_reply_to) <= 200))
  constraint receipt_kind_check CHECK ((kind = ANY (ARRAY['delivered'::text, 'received'::text, 'progress'::text, 'completed'::text, 'failed'::text, 'text'::text])))
  constraint receipt_sender_check CHECK (((length(sender) >= 1) AND (length(sender) <= 200)))
  constraint receipt_step_check CHECK ((length(step) <= 200))
  constraint receipt_task_ref_check CHECK ((length(task_ref) <= 200))
  constraint receipt_thread_id_check CHECK ((length(thread_id) <= 200))
)
CREATE INDEX receipt_delivery ON receipt USING btree (delivery_id)
CREATE INDEX receipt_effect ON receipt USING btree (effect_id) WHERE (effect_id IS NOT NULL)
CREATE INDEX receipt_received ON receipt USING brin (received_at)
CREATE INDEX receipt_task ON receipt USING btree (task_id, received_at)
CREATE INDEX receipt_unjudged ON receipt USING btree (received_at) WHERE (verdict IS NULL)
CREATE INDEX receipt_unmatched ON receipt USING btree (id) WHERE ((verdict IS NULL) OR (verdict = ANY (ARRAY['unknown_task'::text, 'wrong_step'::text, 'wrong_thread'::text, 'wrong_message'::text, 'wrong_external_id'::text, 'sender_not_allowed'::text])))

table recovery (
  task_id uuid not null
  step text default ''::text not null
  kind text not null
  window_key text not null
  at timestamp with time zone not null
  until timestamp with time zone
  by text not null
  constraint recovery_pkey PRIMARY KEY (task_id, step, kind, window_key)
  constraint recovery_by_check CHECK ((length(by) <= 300))
  constraint recovery_kind_check CHECK (((length(kind) >= 1) AND (length(kind) <= 63)))
  constraint recovery_window_key_check CHECK (((length(window_key) >= 1) AND (length(window_key) <= 100)))
)

table replay (
  task_id uuid not null
  id text not null
  step text
  by text not null
  why text not null
  options jsonb default '{}'::jsonb not null
  at timestamp with time zone not null
  result jsonb not null
  constraint replay_pkey PRIMARY KEY (task_id, id)
  constraint replay_task_id_fkey FOREIGN KEY (task_id) REFERENCES task(id)
  constraint replay_by_check CHECK (((length(by) >= 1) AND (length(by) <= 200)))
  constraint replay_id_check CHECK (((length(id) >= 1) AND (length(id) <= 200)))
  constraint replay_options_check CHECK ((octet_length((options)::text) <= 262144))
  constraint replay_why_check CHECK (((length(why) >= 1) AND (length(why) <= 2000)))
)

table request (
  message_id uuid not null
  effect_id uuid not null
  task_id uuid not null
  step text not null
  attempt integer not null
  epoch bigint not null
  claim_id uuid
  intent_at timestamp with time zone not null
  outcome text
  outcome_at timestamp with time zone
  late boolean default false not null
  error jsonb
  constraint request_pkey PRIMARY KEY (message_id)
  constraint request_effect_id_fkey FOREIGN KEY (effect_id) REFERENCES effect(id)
  constraint request_outcome_check CHECK ((outcome = ANY (ARRAY['confirmed'::text, 'refused'::text, 'not_sent'::text, 'absent'::text, 'failed'::text, 'withdrawn'::text, 'voided'::text])))
)
CREATE INDEX request_effect ON request USING btree (effect_id, intent_at)
CREATE INDEX request_task ON request USING btree (task_id)

table sender_key (
  id uuid not null
  sender text not null
  secret text not null
  created_at timestamp with time zone not null
  created_by text not null
  expires_at timestamp with time zone
  revoked_at timestamp with time zone
  revoked_by text
  constraint sender_key_pkey PRIMARY KEY (id)
  constraint sender_key_created_by_check CHECK (((length(created_by) >= 1) AND (length(created_by) <= 200)))
  constraint sender_key_revoked_by_check CHECK (((length(revoked_by) >= 1) AND (length(revoked_by) <= 200)))
  constraint sender_key_secret_check CHECK (((length(secret) >= 1) AND (length(secret) <= 200)))
  constraint sender_key_sender_check CHECK (((length(sender) >= 1) AND (length(sender) <= 200)))
)
CREATE INDEX sender_key_sender ON sender_key USING btree (sender) WHERE (revoked_at IS NULL)

table step (
  task_id uuid not null
  name text not null
  ordinal smallint not null
  kind text not null
  state text not null
  seq bigint not null
  reason text not null
  since timestamp with time zone not null
  needs text[] not null
  reentrant boolean not null
  attempts_max integer not null
  has_receipt boolean not null
  inbox boolean not null
  has_probe boolean not null
  has_withdraw boolean default false not null
  quick boolean not null
  checks_max integer not null
  attempt integer default 0 not null
  charged integer default 0 not null
  charging boolean default false not null
  resume boolean default false not null
  epoch bigint default 0 not null
  claim_id uuid
  holder text
  lease_expires_at timestamp with time zone
  settled_claim_id uuid
  next_run_at timestamp with time zone not null
  effects integer default 0 not null
  open_count integer default 0 not null
  cancel_id text
  check_no integer default 0 not null
  checks_used integer default 0 not null
  next_check_at timestamp with time zone
  check_claim_id uuid
  check_expires_at timestamp with time zone
  receipt_due_at timestamp with time zone
  withdraw_no integer default 0 not null
  withdraw_due_at timestamp with time zone
  withdraw_claim_id uuid
  withdraw_expires_at timestamp with time zone
  proof_since boolean default false not null
  result jsonb
  error jsonb
  constraint step_pkey PRIMARY KEY (task_id, name)
  constraint step_task_id_fkey FOREIGN KEY (task_id) REFERENCES task(id)
  constraint step_task_id_seq_state_fkey FOREIGN KEY (task_id, seq, state) REFERENCES timeline(task_id, id, to_state)
  constraint step_attempt_check CHECK ((attempt >= 0))
  constraint step_attempts_max_check CHECK ((attempts_max >= 1))
  constraint step_cancel_id_check CHECK ((length(cancel_id) <= 200))
  constraint step_charged_check CHECK ((charged >= 0))
  constraint step_check CHECK (((state = ANY (ARRAY['leased'::text, 'cancel_requested'::text])) = (claim_id IS NOT NULL)))
  constraint step_check1 CHECK ((((claim_id IS NULL) = (holder IS NULL)) AND ((claim_id IS NULL) = (lease_expires_at IS NULL))))
  constraint step_check2 CHECK (((state <> 'cancel_requested'::text) OR (cancel_id IS NOT NULL)))
  constraint step_check3 CHECK ((NOT ((state = ANY (ARRAY['queued'::text, 'leased'::text])) AND (cancel_id IS NOT NULL))))
  constraint step_check4 CHECK ((NOT ((state = ANY (ARRAY['queued'::text, 'completed'::text, 'cancelled'::text, 'succeeded'::text])) AND (open_count > 0))))
  constraint step_check5 CHECK (((check_claim_id IS NULL) = (check_expires_at IS NULL)))
  constraint step_check6 CHECK (((withdraw_claim_id IS NULL) = (withdraw_expires_at IS NULL)))
  constraint step_check7 CHECK (((withdraw_claim_id IS NULL) OR (withdraw_due_at IS NOT NULL)))
  constraint step_check8 CHECK (((withdraw_due_at IS NULL) OR (state = ANY (ARRAY['submitted'::text, 'received'::text, 'in_progress'::text, 'unconfirmed'::text]))))
  constraint step_checks_max_check CHECK ((checks_max >= 1))
  constraint step_holder_check CHECK (((length(holder) >= 1) AND (length(holder) <= 300)))
  constraint step_kind_check CHECK ((kind = ANY (ARRAY['run'::text, 'review'::text])))
  constraint step_name_check CHECK (((length(name) >= 1) AND (length(name) <= 63)))
  constraint step_open_count_check CHECK ((open_count >= 0))
  constraint step_reason_check CHECK ((reason ~ '^[a-z_]{1,63}$'::text))
  constraint step_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'queued'::text, 'leased'::text, 'submitted'::text, 'received'::text, 'in_progress'::text, 'unconfirmed'::text, 'completed'::text, 'succeeded'::text, 'cancel_requested'::text, 'cancelled'::text, 'dead'::text])))
) with (fillfactor=70)
CREATE INDEX step_checks ON step USING btree (next_check_at) WHERE (next_check_at IS NOT NULL)
CREATE INDEX step_due ON step USING btree (next_run_at) WHERE (state = ANY (ARRAY['queued'::text, 'unconfirmed'::text]))
CREATE INDEX step_leases ON step USING btree (lease_expires_at) WHERE (claim_id IS NOT NULL)
CREATE INDEX step_receipts_due ON step USING btree (receipt_due_at) WHERE (receipt_due_at IS NOT NULL)
CREATE INDEX step_troubled ON step USING btree (state, since) WHERE (state = ANY (ARRAY['unconfirmed'::text, 'dead'::text]))
CREATE INDEX step_unconfirmed ON step USING btree (since) WHERE (state = 'unconfirmed'::text)
CREATE INDEX step_withdrawals ON step USING btree (withdraw_due_at) WHERE (withdraw_due_at IS NOT NULL)
CREATE TRIGGER step_manual BEFORE UPDATE OF state ON step FOR EACH ROW WHEN (((old.state IS DISTINCT FROM new.state) AND (old.seq = new.seq))) EXECUTE FUNCTION _manual_correction()
CREATE TRIGGER step_manual_after AFTER UPDATE OF state ON step FOR EACH ROW WHEN (((old.state IS DISTINCT FROM new.state) AND (new.reason = 'manual_correction'::text) AND (old.seq IS DISTINCT FROM new.seq))) EXECUTE FUNCTION _manual_after()

table task (
  id uuid not null
  type text not null
  version integer not null
  key text
  input jsonb not null
  status text not null
  at_rest boolean default false not null
  reason text not null
  held_by text
  seq bigint default 0 not null
  since timestamp with time zone not null
  deadline_at timestamp with time zone
  created_at timestamp with time zone not null
  created_by text not null
  ended_at timestamp with time zone
  again_of uuid
  raw boolean default false not null
  priority smallint
  fairness_key text
  fairness_weight double precision
  driver_seen_at timestamp with time zone
  driver_run_id text
  trace_parent text
  constraint task_pkey PRIMARY KEY (id)
  constraint task_again_of_key UNIQUE (again_of)
  constraint task_reason_fkey FOREIGN KEY (reason) REFERENCES reason(code)
  constraint task_status_fkey FOREIGN KEY (status) REFERENCES parent_rule(status)
  constraint task_type_version_fkey FOREIGN KEY (type, version) REFERENCES task_type(type, version)
  constraint task_created_by_check CHECK ((length(created_by) <= 200))
  constraint task_driver_run_id_check CHECK ((length(driver_run_id) <= 200))
  constraint task_fairness_key_check CHECK (((octet_length(fairness_key) >= 1) AND (octet_length(fairness_key) <= 64)))
  constraint task_fairness_weight_check CHECK (((fairness_weight >= (0.001)::double precision) AND (fairness_weight <= (1000)::double precision)))
  constraint task_held_by_check CHECK ((length(held_by) <= 63))
  constraint task_key_check CHECK (((length(key) >= 1) AND (length(key) <= 512)))
  constraint task_priority_check CHECK (((priority >= 1) AND (priority <= 5)))
  constraint task_trace_parent_check CHECK ((trace_parent ~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$'::text))
) with (fillfactor=85)
CREATE INDEX task_deadline ON task USING btree (deadline_at) WHERE ((deadline_at IS NOT NULL) AND (NOT at_rest))
CREATE INDEX task_ended ON task USING brin (ended_at)
CREATE INDEX task_key ON task USING btree (key text_pattern_ops) WHERE (key IS NOT NULL)
CREATE INDEX task_list ON task USING btree (created_at DESC, id DESC)
CREATE INDEX task_open ON task USING btree (id) WHERE (NOT at_rest)

table task_type (
  type text not null
  version integer not null
  plan jsonb not null
  plan_digest text not null
  input_schema jsonb
  input_bytes_max integer not null
  registered_at timestamp with time zone not null
  registered_by text not null
  constraint task_type_pkey PRIMARY KEY (type, version)
  constraint task_type_input_bytes_max_check CHECK (((input_bytes_max >= 1) AND (input_bytes_max <= 1048576)))
  constraint task_type_input_schema_check CHECK ((octet_length((input_schema)::text) <= 262144))
  constraint task_type_plan_digest_check CHECK ((plan_digest ~ '^[0-9a-f]{64}$'::text))
  constraint task_type_registered_by_check CHECK ((length(registered_by) <= 300))
  constraint task_type_type_check CHECK (((type ~ '^[a-z][a-z0-9]*(-[a-z0-9]+)*$'::text) AND (length(type) <= 63)))
  constraint task_type_version_check CHECK ((version >= 1))
)
CREATE TRIGGER task_type_append_only BEFORE DELETE OR UPDATE ON task_type FOR EACH ROW EXECUTE FUNCTION _append_only()

table timeline (
  id bigint generated always as identity not null
  task_id uuid not null
  step text
  kind text not null
  at timestamp with time zone not null
  event text
  rule text
  part smallint
  from_state text default '-'::text not null
  to_state text default '-'::text not null
  reason text
  attempt integer
  epoch bigint
  actor text not null
  facts jsonb default '{}'::jsonb not null
  constraint timeline_pkey PRIMARY KEY (task_id, id, to_state)
  constraint timeline_rule_part_from_state_to_state_reason_fkey FOREIGN KEY (rule, part, from_state, to_state, reason) REFERENCES transition_edge(rule, part, from_state, to_state, reason)
  constraint timeline_actor_check CHECK (((length(actor) >= 1) AND (length(actor) <= 300)))
  constraint timeline_check CHECK (((kind = 'transition'::text) = (rule IS NOT NULL)))
  constraint timeline_check1 CHECK (((kind <> 'transition'::text) OR ((step IS NOT NULL) AND (reason IS NOT NULL) AND (part IS NOT NULL))))
  constraint timeline_event_check CHECK ((length(event) <= 40))
  constraint timeline_kind_check CHECK ((kind = ANY (ARRAY['transition'::text, 'parent'::text, 'intent'::text, 'outcome'::text, 'receipt'::text, 'cancel'::text, 'check'::text, 'correction'::text, 'late'::text, 'note'::text])))
  constraint timeline_reason_check CHECK ((reason ~ '^[a-z_]{1,63}$'::text))
  constraint timeline_step_check CHECK ((length(step) <= 63))
)
CREATE INDEX timeline_id ON timeline USING btree (id)
CREATE TRIGGER timeline_append_only BEFORE UPDATE ON timeline FOR EACH ROW EXECUTE FUNCTION _append_only()
CREATE TRIGGER timeline_no_truncate BEFORE TRUNCATE ON timeline FOR EACH STATEMENT EXECUTE FUNCTION _append_only()
CREATE TRIGGER timeline_pruned BEFORE DELETE ON timeline FOR EACH ROW EXECUTE FUNCTION _delete_pruned()

table transition_edge (
  rule text not null
  part smallint not null
  from_state text not null
  to_state text not null
  reason text not null
  constraint transition_edge_pkey PRIMARY KEY (rule, part, from_state, to_state, reason)
  constraint transition_edge_reason_fkey FOREIGN KEY (reason) REFERENCES reason(code)
  constraint transition_edge_part_check CHECK ((part = ANY (ARRAY[1, 2])))
)

table transition_rule (
  label text not null
  event text not null
  from_state text not null
  needs boolean
  due boolean
  open boolean
  confirmed boolean
  cancel boolean
  left boolean
  tried boolean
  resume boolean
  receipt boolean
  inbox boolean
  verdict boolean
  probe boolean
  checks boolean
  resendable boolean
  resolvable boolean
  retryable boolean
  reentrant boolean
  submits boolean
  done boolean
  again boolean
  counts boolean
  withdrawable boolean
  proof_since boolean
  no_way boolean
  via_state text
  via_reason text
  to_state text not null
  reason text not null
  constraint transition_rule_pkey PRIMARY KEY (label, from_state)
  constraint transition_rule_reason_fkey FOREIGN KEY (reason) REFERENCES reason(code)
  constraint transition_rule_via_reason_fkey FOREIGN KEY (via_reason) REFERENCES reason(code)
  constraint transition_rule_check CHECK (((via_state IS NULL) = (via_reason IS NULL)))
  constraint transition_rule_event_check CHECK ((event ~ '^[a-z_]{1,40}$'::text))
  constraint transition_rule_label_check CHECK ((label ~ '^[a-z_.]{1,80}$'::text))
)
CREATE INDEX transition_rule_event ON transition_rule USING btree (event, from_state)

table webhook (
  id uuid not null
  url text not null
  secrets jsonb not null
  events text[] not null
  types text[] default '{}'::text[] not null
  enabled boolean default true not null
  disabled_why text
  not_before timestamp with time zone default '-infinity'::timestamp with time zone not null
  created_at timestamp with time zone not null
  created_by text not null
  changed_at timestamp with time zone not null
  changed_by text not null
  removed_at timestamp with time zone
  constraint webhook_pkey PRIMARY KEY (id)
  constraint webhook_changed_by_check CHECK (((length(changed_by) >= 1) AND (length(changed_by) <= 200)))
  constraint webhook_created_by_check CHECK (((length(created_by) >= 1) AND (length(created_by) <= 200)))
  constraint webhook_disabled_why_check CHECK ((length(disabled_why) <= 2000))
  constraint webhook_events_check CHECK (((cardinality(events) >= 1) AND (cardinality(events) <= 50)))
  constraint webhook_types_check CHECK ((cardinality(types) <= 100))
  constraint webhook_url_check CHECK (((length(url) >= 1) AND (length(url) <= 2000)))
)
CREATE INDEX webhook_enabled ON webhook USING btree (id) WHERE enabled

table worker (
  id text not null
  offers jsonb not null
  task_queue text not null
  seen_at timestamp with time zone not null
  clock_skew_ms bigint default 0 not null
  stopping boolean default false not null
  constraint worker_pkey PRIMARY KEY (id)
  constraint worker_id_check CHECK (((length(id) >= 1) AND (length(id) <= 300)))
  constraint worker_task_queue_check CHECK ((length(task_queue) <= 200))
)

function _accept(p_task uuid, p_step text, p_check_no integer, p_found boolean, p_ours boolean, p_minimum boolean, p_detail jsonb, p_result jsonb, p_now timestamp with time zone, p_actor text) returns text language plpgsql volatile
function _accept_inline(p_task uuid, p_step text, p_now timestamp with time zone) returns void language plpgsql volatile
function _after(p_task uuid, p_now timestamp with time zone, p_actor text, p_wake boolean) returns void language plpgsql volatile
function _after_evidence(p_task uuid, p_step text, p_effect uuid, p_now timestamp with time zone, p_actor text) returns text language plpgsql volatile
function _answer_cancels(p_task uuid, p_step text, p_state text, p_reason text, p_now timestamp with time zone) returns void language plpgsql volatile
function _append_only() returns trigger language plpgsql volatile
function _apply_receipt(p_receipt uuid, p_now timestamp with time zone) returns boolean language plpgsql volatile
function _apply_stored(p_task uuid, p_step text, p_now timestamp with time zone) returns void language plpgsql volatile
function _artifact_leaving(p_sha256 text) returns boolean language plpgsql volatile
function _artifact_lock(p_sha256 text) returns bigint language sql immutable
function _audit_cancel(p_task uuid, p_since timestamp with time zone) returns TABLE(code text, task_id uuid, step text, facts jsonb) language sql stable
function _audit_effect(p_task uuid, p_since timestamp with time zone) returns TABLE(code text, task_id uuid, step text, facts jsonb) language sql stable
function _audit_late(p_task uuid, p_since timestamp with time zone, p_late timestamp with time zone) returns TABLE(code text, task_id uuid, step text, facts jsonb) language sql stable
function _audit_receipt(p_task uuid, p_since timestamp with time zone) returns TABLE(code text, task_id uuid, step text, facts jsonb) language sql stable
function _audit_step(p_task uuid, p_since timestamp with time zone) returns TABLE(code text, task_id uuid, step text, facts jsonb) language sql stable
function _audit_task(p_task uuid, p_since timestamp with time zone) returns TABLE(code text, task_id uuid, step text, facts jsonb) language sql stable
function _audit_timeline(p_task uuid, p_since timestamp with time zone) returns TABLE(code text, task_id uuid, step text, facts jsonb) language sql stable
function _audited(p_id uuid, p_ended_at timestamp with time zone, p_task uuid, p_since timestamp with time zone) returns boolean language sql immutable
function _bounded(p text, p_path text, p_chars integer) returns text language plpgsql immutable
function _bulk_answer(p_id uuid, p_now timestamp with time zone) returns jsonb language sql stable
function _bulk_item(b bulk, i bulk_item) returns text language plpgsql volatile
function _by_hand(p_task uuid, p_step text) returns boolean language sql stable
function _cancel_foreseen(p_task uuid, p_step text, p_now timestamp with time zone) returns jsonb language sql volatile
function _cancel_open(p_task uuid, p jsonb, p_verb text, p_now timestamp with time zone) returns jsonb language plpgsql volatile
function _cancel_verdict_ms() returns bigint language sql immutable
function _canonical(p jsonb, p_path text, p_depth integer DEFAULT 0) returns text language plpgsql immutable
function _canonical_number(p text, p_path text) returns text language plpgsql immutable
function _chain_head(p_task uuid) returns text language plpgsql stable
function _check_current(s step, p jsonb) returns boolean language sql immutable
function _check_recorded(p_task uuid, p_step text, p jsonb) returns boolean language sql stable
function _claim_answer(p_task uuid, p_step text, p_now timestamp with time zone) returns jsonb language sql stable
function _claimed(p_task uuid, p_step text, p_attempt integer, p_epoch bigint) returns boolean language sql stable
function _close_effect(p_effect uuid, p_status text, p_now timestamp with time zone) returns void language plpgsql volatile
function _confirm_effect(p_effect uuid, p_external_id text, p_result jsonb, p_now timestamp with time zone) returns void language plpgsql volatile
function _delete_pruned() returns trigger language plpgsql volatile
function _differing_paths(a jsonb, b jsonb) returns jsonb language sql immutable
function _digest(p jsonb, p_path text) returns text language sql immutable
function _driver_restarts(p_task uuid) returns integer language sql stable
function _end_generation(p_effect uuid, p_status text, p_now timestamp with time zone) returns void language plpgsql volatile
function _end_submission(p_task uuid, p_step text, p_status text, p_now timestamp with time zone) returns void language plpgsql volatile
function _entry(l timeline) returns jsonb language sql immutable
function _facts(s step, p_event text, p_now timestamp with time zone, p_x jsonb) returns facts language plpgsql volatile
function _fenced(p_task uuid, p_step text, p_claim uuid) returns jsonb language sql stable
function _first_check_at(p_task uuid, p_step text, p_now timestamp with time zone) returns timestamp with time zone language sql stable
function _in_flight(p_task uuid, p_step text) returns jsonb language sql stable
function _input_digests(p jsonb) returns jsonb language plpgsql immutable
function _instead(p_state text) returns jsonb language sql immutable
function _interval(p_ms numeric) returns interval language sql immutable
function _iso(p timestamp with time zone) returns text language sql immutable
function _judge(p_receipt uuid, p_now timestamp with time zone) returns void language plpgsql volatile
function _judge_safely(p_receipt uuid, p_now timestamp with time zone) returns boolean language plpgsql volatile
function _lease_margin_ms() returns bigint language sql immutable
function _lock(p_task uuid) returns task language sql volatile
function _log(p_task uuid, p_step text, p_kind text, p_at timestamp with time zone, p_actor text, p_facts jsonb, p_state text DEFAULT '-'::text, p_reason text DEFAULT NULL::text, p_attempt integer DEFAULT NULL::integer, p_epoch bigint DEFAULT NULL::bigint, p_event text DEFAULT NULL::text) returns bigint language sql volatile
function _manual_after() returns trigger language plpgsql volatile
function _manual_correction() returns trigger language plpgsql volatile
function _may_rescue(p_task uuid, p_ordinal integer, p_now timestamp with time zone) returns boolean language sql volatile
function _misaddressed(p_verdict text) returns boolean language sql immutable
function _move(p_task uuid, p_step text, p_event text, p_now timestamp with time zone, p_actor text, p_x jsonb DEFAULT '{}'::jsonb) returns text language plpgsql volatile
function _ms(p interval) returns bigint language sql immutable
function _ms_of(p timestamp with time zone) returns text language sql immutable
function _notify(p_event text, p_task uuid, p_step text, p_window text, p_at timestamp with time zone, p_now timestamp with time zone, p_facts jsonb DEFAULT '{}'::jsonb) returns void language sql volatile
function _notify_ends(p_task uuid, p_now timestamp with time zone) returns void language plpgsql volatile
function _notify_review(p_task uuid, p_step text, p_now timestamp with time zone) returns void language plpgsql volatile
function _outcome(p jsonb, p_late boolean, p_now timestamp with time zone) returns effect language plpgsql volatile
function _plan(p_task uuid, p_ordinal integer) returns jsonb language sql stable
function _pointer_token(p text) returns text language plpgsql immutable
function _prune_age_min() returns interval language sql immutable
function _prune_hold(p_task uuid) returns text language sql volatile
function _pruned_summary() returns trigger language plpgsql volatile
function _pruned_whole() returns trigger language plpgsql volatile
function _quick(p_plan jsonb) returns boolean language sql immutable
function _readable() returns SETOF regclass language sql stable
function _refuse(p jsonb, p_sentence text) returns void language plpgsql volatile
function _rematched(p_task uuid, p_id text, p_receipt uuid, p_was text) returns jsonb language sql stable
function _replay_foreseen(s step, p_void jsonb, p_now timestamp with time zone) returns jsonb language plpgsql volatile
function _replay_options(p jsonb) returns jsonb language sql immutable
function _rescue_at(p_lease timestamp with time zone, p_lease_ms bigint) returns timestamp with time zone language sql stable
function _resend_until(p_task uuid, p_step text) returns timestamp with time zone language sql stable
function _review_open(p_task uuid, p_step text, p jsonb, p_now timestamp with time zone, p_actor text) returns void language plpgsql volatile
function _rights() returns TABLE(name text, roles text[]) language sql immutable
function _rights_grant() returns void language plpgsql volatile
function _rule(p_event text, p_from text, f facts) returns transition_rule language plpgsql stable
function _send_permission_ms() returns bigint language sql immutable
function _sender_key_answer(k sender_key) returns jsonb language sql stable
function _silent_since(s step, p_silent timestamp with time zone) returns timestamp with time zone language sql immutable
function _stored(p_task uuid, p_step text) returns boolean language sql stable
function _submission(p_task uuid, p_step text) returns effect language sql stable
function _submission_stands(p_task uuid, p_step text) returns boolean language sql stable
function _tick(p_task uuid, p_now timestamp with time zone, p_actor text) returns integer language plpgsql volatile
function _time(p timestamp with time zone, p_path text) returns timestamp with time zone language plpgsql volatile
function _token_answer(t api_token) returns jsonb language sql stable
function _unhurried() returns void language sql volatile
function _unknown(p_task uuid) returns jsonb language sql stable
function _utf16(p text) returns bytea language sql immutable
function _verdict(p_receipt uuid, p_verdict text, p_effect uuid, p_facts jsonb, p_now timestamp with time zone) returns void language plpgsql volatile
function _view(p_task uuid, p_now timestamp with time zone) returns jsonb language sql stable
function _voids(p_void jsonb, p_effect text, p_item text) returns boolean language sql immutable
function _wait_ms(p_schedule jsonb, p_n integer, p_floor_ms numeric) returns numeric language sql volatile
function _wake(p_task uuid, p_now timestamp with time zone, p_forced boolean DEFAULT false) returns void language sql volatile
function _webhook_answer(p_id uuid) returns jsonb language sql stable
function _withdrawal_due(p_withdrawal uuid, p_at timestamp with time zone, p_now timestamp with time zone) returns void language plpgsql volatile
function _withdrawal_left(p_task uuid, p_step text, p_now timestamp with time zone) returns void language plpgsql volatile
function _withdrawal_refused(p_withdrawal uuid, p_facts jsonb, p_now timestamp with time zone, p_actor text) returns text language plpgsql volatile
function _withdrawal_unanswered(p_task uuid, p_step text, p_again boolean, p_retry_after_ms numeric, p_facts jsonb, p_now timestamp with time zone, p_actor text) returns text language plpgsql volatile
function _woken(p_task uuid, p_due timestamp with time zone, p_now timestamp with time zone) returns boolean language sql stable
function accept_result(p_task uuid, p_step text, p jsonb) returns jsonb language plpgsql volatile
function artifact_orphans_drop(p_digests jsonb) returns integer language plpgsql volatile
function artifact_orphans_take(p_limit integer, p_hold_ms bigint) returns jsonb language plpgsql volatile
function artifact_put(p_task uuid, p_step text, p_claim uuid, p jsonb, p_max integer) returns jsonb language plpgsql volatile
function audit(p jsonb) returns jsonb language plpgsql stable
function bulk_abort(p_id uuid, p_kind text, p jsonb) returns jsonb language plpgsql volatile
function bulk_advance(p_id uuid, p_limit integer) returns jsonb language plpgsql volatile
function bulk_apply(p_id uuid, p_kind text, p jsonb) returns jsonb language plpgsql volatile
function bulk_create(p jsonb, p_items_max integer) returns jsonb language plpgsql volatile
function cancel_answer(p_task uuid, p_id text, p_now timestamp with time zone) returns jsonb language sql stable
function check_claim(p_task uuid, p_step text, p_check uuid, p_hold_ms bigint, p_holder text) returns jsonb language plpgsql volatile
function checkpoint_put(p_task uuid, p_step text, p_claim uuid, p_name text, p_value jsonb, p_max integer) returns jsonb language plpgsql volatile
function drift_looked(p_to timestamp with time zone) returns jsonb language plpgsql volatile
function drift_take(p_limit integer, p_quiet_ms bigint, p_cycle_ms bigint) returns jsonb language plpgsql volatile
function drift_turn(p_interval_ms bigint) returns jsonb language plpgsql volatile
function driver_lost(p_task uuid, p jsonb, p_backoff_ms bigint, p_backoff_max_ms bigint, p_restarts_max integer) returns jsonb language plpgsql volatile
function effect_confirm(p_task uuid, p jsonb) returns jsonb language plpgsql volatile
function effect_intend(p_task uuid, p_step text, p jsonb) returns jsonb language plpgsql volatile
function effect_outcome(p_task uuid, p_step text, p jsonb) returns jsonb language plpgsql volatile
function enqueue(type text, input jsonb, key text DEFAULT NULL::text, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, delay interval DEFAULT NULL::interval, deadline_at timestamp with time zone DEFAULT NULL::timestamp with time zone, again_of uuid DEFAULT NULL::uuid, priority integer DEFAULT NULL::integer, fairness_key text DEFAULT NULL::text, fairness_weight double precision DEFAULT NULL::double precision, version integer DEFAULT NULL::integer, id uuid DEFAULT NULL::uuid, by text DEFAULT NULL::text) returns enqueued language plpgsql volatile
function event_mark(p_known bigint) returns jsonb language plpgsql volatile
function gap_report(p_by text) returns jsonb language plpgsql volatile
function lease_renew(p_task uuid, p_step text, p_claim uuid, p_lease_ms bigint, p_gap boolean, p_holder text) returns jsonb language plpgsql volatile
function ledger_activity(p_rows_max integer, p_window_ms bigint, p_spans integer) returns jsonb language plpgsql volatile
function ledger_gauges(p_rows_max integer, p_worker_seen_ms bigint, p_window_ms bigint) returns jsonb language plpgsql volatile
function natural_key(subject text, action text, resource_version text) returns text language sql immutable
function notification_body(p_id uuid, p_body text) returns jsonb language sql volatile
function notification_failed(p_id uuid, p jsonb) returns jsonb language plpgsql volatile
function notification_find(p_after_ms bigint, p_window_ms bigint, p_limit integer) returns integer language plpgsql volatile
function notification_sent(p_id uuid, p_http_status integer) returns jsonb language plpgsql volatile
function notification_take(p_limit integer, p_each integer, p_hold_ms bigint) returns jsonb language plpgsql volatile
function notification_unpark(p_id uuid, p jsonb) returns jsonb language plpgsql volatile
function now() returns timestamp with time zone language sql volatile
function outbox_failed(p_task uuid, p_error text, p_retry_ms bigint, p_counts boolean, p_attempts_max integer) returns jsonb language plpgsql volatile
function outbox_sent(p jsonb) returns integer language plpgsql volatile
function outbox_take(p_limit integer, p_hold_ms bigint) returns jsonb language plpgsql volatile
function outbox_unpark(p_task uuid, p jsonb) returns jsonb language plpgsql volatile
function probe_result(p_task uuid, p_step text, p jsonb) returns jsonb language plpgsql volatile
function receipt_put(p jsonb) returns jsonb language plpgsql volatile
function receipt_rematch(p_task uuid, p jsonb) returns jsonb language plpgsql volatile
function review_decide(p_task uuid, p jsonb) returns jsonb language plpgsql volatile
function sender_key_add(p jsonb) returns jsonb language plpgsql volatile
function sender_key_list(p_sender text) returns jsonb language sql volatile
function sender_key_revoke(p_id uuid, p jsonb) returns jsonb language plpgsql volatile
function sender_secrets(p_sender text) returns jsonb language sql volatile
function step_claim(p_task uuid, p_step text, p_claim uuid, p_holder text) returns jsonb language plpgsql volatile
function step_settle(p_task uuid, p_step text, p jsonb) returns jsonb language plpgsql volatile
function sweep_due(p_limit integer, p_silence_ms bigint) returns jsonb language plpgsql volatile
function sweep_report(p_after bigint, p_actor text) returns jsonb language sql volatile
function task_cancel(p_task uuid, p jsonb) returns jsonb language plpgsql volatile
function task_enqueue(p jsonb) returns jsonb language plpgsql volatile
function task_enqueue_batch(p jsonb) returns jsonb language plpgsql volatile
function task_look(p_task uuid, p_run_id text) returns jsonb language plpgsql volatile
function task_prune(p jsonb) returns jsonb language plpgsql volatile
function task_pruned(p_task uuid) returns jsonb language sql stable
function task_record(p_task uuid, p_worker_seen_ms bigint) returns jsonb language sql volatile
function task_replay(p_task uuid, p jsonb) returns jsonb language plpgsql volatile
function task_sweep(p_task uuid, p_holder text, p_silence_ms bigint, p_silence_max_ms bigint) returns jsonb language plpgsql volatile
function task_withdraw(p_task uuid, p jsonb) returns jsonb language plpgsql volatile
function timeline_correct(p_task uuid, p jsonb) returns jsonb language plpgsql volatile
function token_add(p jsonb) returns jsonb language plpgsql volatile
function token_list() returns jsonb language sql volatile
function token_revoke(p jsonb) returns jsonb language plpgsql volatile
function token_use(p_hash text) returns jsonb language plpgsql volatile
function type_register(p jsonb) returns jsonb language plpgsql volatile
function wait_abandon(p_task uuid, p jsonb) returns jsonb language plpgsql volatile
function webhook_add(p jsonb) returns jsonb language plpgsql volatile
function webhook_change(p_id uuid, p jsonb) returns jsonb language plpgsql volatile
function webhook_list() returns jsonb language sql volatile
function webhook_remove(p_id uuid, p jsonb) returns jsonb language plpgsql volatile
function webhook_rotate(p_id uuid, p jsonb) returns jsonb language plpgsql volatile
function webhook_test(p_id uuid, p jsonb) returns jsonb language plpgsql volatile
function withdrawal_claim(p_task uuid, p_step text, p_claim uuid, p_holder text) returns jsonb language plpgsql volatile
function withdrawal_outcome(p_task uuid, p_step text, p jsonb) returns jsonb language plpgsql volatile
function worker_seen(p_id text, p_offers jsonb, p_queue text, p_clock_ms bigint, p_stopping boolean) returns jsonb language plpgsql volatile

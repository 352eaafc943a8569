-- The ledger: what is. Every table says in a sentence what a row is; every text column is bounded;
-- what NULL means is written beside the column.
create schema if not exists throughline;
set local search_path = throughline, pg_temp;

-- The shift of the ledger's clock: zero, except in tests that let hours pass without sleeping.
create table clock (
  one boolean primary key default true check (one),
  shift interval not null default interval '0'
);
insert into clock default values;

-- The last time that holders reported the ledger unreachable; no lease is rescued for one lease length after.
create table ledger_gap (
  one boolean primary key default true check (one),
  ended_at timestamptz not null default '-infinity',
  reported_by text check (length(reported_by) <= 300)  -- null: never reported
);
insert into ledger_gap default values;

-- How far the walk over the open tasks has come that asks Temporal for their drivers.
create table drift (
  one boolean primary key default true check (one),
  after uuid,                                  -- null: the walk ended
  started_at timestamptz not null default '-infinity',
  turn_at timestamptz not null default '-infinity',
  terminations_since timestamptz not null default clock_timestamp()
);
insert into drift default values;

-- A reason code, and what an open cancel is answered when a step ends with it. Written by rules.sql.
create table reason (
  code text primary key check (code ~ '^[a-z_]{1,63}$'),
  cancel_verdict text check (cancel_verdict in ('prevented','stopped_at_boundary','too_late','withdrawn','needs_person')),  -- null: decides nothing
  ended_by text check (ended_by in ('user','protection','success'))  -- null: does not end a step
);

-- One row of the step's state machine, for one state that it starts from. Written by rules.sql from
-- src/state/machine.ts. Guards: a null fact does not matter.
create table transition_rule (
  label text not null check (label ~ '^[a-z_.]{1,80}$'),
  event text not null check (event ~ '^[a-z_]{1,40}$'),
  from_state text not null,
  needs boolean, due boolean, open boolean, confirmed boolean, cancel boolean, "left" boolean, tried boolean,
  resume boolean, receipt boolean, inbox boolean, verdict boolean, probe boolean, checks boolean,
  resendable boolean, resolvable boolean, retryable boolean, reentrant boolean, submits boolean, done boolean,
  again boolean, counts boolean, withdrawable boolean, proof_since boolean, no_way boolean,
  via_state text,   -- null: one edge; otherwise the state between two edges of one call
  via_reason text references reason (code),  -- null: as via_state
  to_state text not null,
  reason text not null references reason (code),
  primary key (label, from_state),
  check ((via_state is null) = (via_reason is null))
);
create index transition_rule_event on transition_rule (event, from_state);

-- The facts of one moment, in the words of src/state/facts.ts.
create type facts as (
  needs boolean, due boolean, open boolean, confirmed boolean, cancel boolean, "left" boolean, tried boolean,
  resume boolean, receipt boolean, inbox boolean, verdict boolean, probe boolean, checks boolean,
  resendable boolean, resolvable boolean, retryable boolean, reentrant boolean, submits boolean, done boolean,
  again boolean, counts boolean, withdrawable boolean, proof_since boolean, no_way boolean
);

-- An edge that a rule may write; a transition in the timeline must be one of these.
create table transition_edge (
  rule text not null,
  part smallint not null check (part in (1, 2)),
  from_state text not null,
  to_state text not null,
  reason text not null references reason (code),
  primary key (rule, part, from_state, to_state, reason)
);

-- One row of the parent's table: the first that holds decides the task's status.
create table parent_rule (
  ordinal smallint primary key,
  status text not null unique,
  quantifier text not null check (quantifier in ('any', 'all', 'otherwise')),
  states text[] not null
);

-- A task type in one version, with the plan that is in force for its tasks. Never changes once written.
create table task_type (
  type text not null check (type ~ '^[a-z][a-z0-9]*(-[a-z0-9]+)*$' and length(type) <= 63),
  version integer not null check (version >= 1),
  plan jsonb not null,
  plan_digest text not null check (plan_digest ~ '^[0-9a-f]{64}$'),
  input_schema jsonb check (octet_length(input_schema::text) <= 262144),  -- JSON Schema of what may be enqueued; null: not known
  input_bytes_max integer not null check (input_bytes_max between 1 and 1048576),
  registered_at timestamptz not null,
  registered_by text not null check (length(registered_by) <= 300),
  primary key (type, version)
);

-- A task: its input, and the roll-up of its steps. Status, reason and rest follow from the steps by parent_rule.
create table task (
  id uuid primary key,
  type text not null,
  version integer not null,
  key text check (length(key) between 1 and 512),  -- null: not deduplicated
  input jsonb not null,
  status text not null references parent_rule (status),
  at_rest boolean not null default false,
  reason text not null references reason (code),
  held_by text check (length(held_by) <= 63),  -- the step that decides the status; null: all succeeded
  seq bigint not null default 0,               -- the newest timeline entry that moved the task or a step
  since timestamptz not null,
  deadline_at timestamptz,                     -- null: may start at any time
  created_at timestamptz not null,
  created_by text not null check (length(created_by) <= 200),
  ended_at timestamptz,                        -- null: not at rest
  again_of uuid unique,                        -- null: not a repetition of another task, which may be pruned since
  raw boolean not null default false,          -- the input is as it was sent: the worker makes of it what the type's schema says
  priority smallint check (priority between 1 and 5),       -- null: Temporal's default (3); 1 goes first
  fairness_key text check (octet_length(fairness_key) between 1 and 64),  -- null: none
  fairness_weight double precision check (fairness_weight between 0.001 and 1000),  -- null: 1
  driver_seen_at timestamptz,                  -- the last time its workflow asked; null: never
  driver_run_id text check (length(driver_run_id) <= 200),  -- null: never driven
  trace_parent text check (trace_parent ~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$'),  -- the enqueueing span (W3C); null: not traced
  foreign key (type, version) references task_type (type, version)
) with (fillfactor = 85);
create index task_list on task (created_at desc, id desc);
-- The beginning of a key, and of the subject that it begins with.
create index task_key on task (key text_pattern_ops) where key is not null;
create index task_open on task (id) where not at_rest;
-- A block range index costs nothing at a move; it finds what ended lately, and what is old enough to be pruned.
create index task_ended on task using brin (ended_at);
create index task_deadline on task (deadline_at) where deadline_at is not null and not at_rest;

-- What enqueueing from SQL answers. created: false where the key was known.
create type enqueued as (id uuid, state text, created boolean);

-- One timeline per task: transitions, effects, receipts, cancels and corrections in one sequence.
-- Append-only. to_state is the state after the entry ('-' where the entry is not about one step), and is
-- part of the key so that a step's state can refer to the very entry that made it.
create table timeline (
  id bigint generated always as identity,
  task_id uuid not null,
  step text check (length(step) <= 63),        -- null: about the task as a whole
  kind text not null check (kind in ('transition','parent','intent','outcome','receipt','cancel','check','correction','late','note')),
  at timestamptz not null,
  event text check (length(event) <= 40),      -- null: not caused by an event of the machine
  rule text,                                   -- null: not a transition
  part smallint,
  from_state text not null default '-',
  to_state text not null default '-',
  reason text check (reason ~ '^[a-z_]{1,63}$'),  -- null: the kind says it; a transition's is one of its edge's
  attempt integer,                             -- null: no attempt concerned
  epoch bigint,                                -- null: no attempt concerned
  actor text not null check (length(actor) between 1 and 300),
  facts jsonb not null default '{}',
  primary key (task_id, id, to_state),
  check ((kind = 'transition') = (rule is not null)),
  check (kind <> 'transition' or (step is not null and reason is not null and part is not null)),
  foreign key (rule, part, from_state, to_state, reason) references transition_edge (rule, part, from_state, to_state, reason)
);
-- The event stream reads all tasks in the order of ids.
create index timeline_id on timeline (id);

-- A step of a task: its state, its attempts, who holds it, and what is due next.
create table step (
  task_id uuid not null references task (id),
  name text not null check (length(name) between 1 and 63),
  ordinal smallint not null,
  kind text not null check (kind in ('run', 'review')),
  state text not null check (state in ('waiting','queued','leased','submitted','received','in_progress','unconfirmed','completed','succeeded','cancel_requested','cancelled','dead')),
  seq bigint not null,                         -- the timeline entry that made this state
  reason text not null check (reason ~ '^[a-z_]{1,63}$'),  -- that entry's
  since timestamptz not null,
  needs text[] not null,
  reentrant boolean not null,
  attempts_max integer not null check (attempts_max >= 1),
  has_receipt boolean not null,
  inbox boolean not null,
  has_probe boolean not null,
  has_withdraw boolean not null default false, -- what it submitted may be taken back
  quick boolean not null,                      -- short, harmless to repeat and asks nothing of the outside: may run beside the driver
  checks_max integer not null check (checks_max >= 1),
  attempt integer not null default 0 check (attempt >= 0),    -- every claim
  charged integer not null default 0 check (charged >= 0),    -- claims that count
  charging boolean not null default false,                    -- the present claim counts
  resume boolean not null default false,                      -- an uncharged continuation is due
  epoch bigint not null default 0,                            -- grows at each claim and each forced exit
  claim_id uuid,                                              -- null: not held
  holder text check (length(holder) between 1 and 300),       -- null: not held
  lease_expires_at timestamptz,                               -- null: not held
  settled_claim_id uuid,                                      -- the last claim that ended; null: none
  next_run_at timestamptz not null,
  effects integer not null default 0,                         -- generations ever opened; 0: nothing was asked of the outside
  open_count integer not null default 0 check (open_count >= 0),  -- requests without an outcome, a withdrawal included
  cancel_id text check (length(cancel_id) <= 200),            -- the cancel that is set; null: none
  check_no integer not null default 0,                        -- names the present check
  checks_used integer not null default 0,
  next_check_at timestamptz,                                  -- null: no check due
  check_claim_id uuid,                                        -- null: no check in progress
  check_expires_at timestamptz,                               -- null: no check in progress
  receipt_due_at timestamptz,                                 -- null: no receipt or reminder due
  withdraw_no integer not null default 0,                     -- names the present request of a withdrawal
  withdraw_due_at timestamptz,                                -- when it is to be sent, or was; null: no withdrawal in progress
  withdraw_claim_id uuid,                                     -- null: not sent yet
  withdraw_expires_at timestamptz,                            -- its answer counts as lost then; null: not sent yet
  proof_since boolean not null default false,                 -- a proof arrived after the step died
  result jsonb,                                               -- null: none recorded
  error jsonb,                                                -- the last failure; null: none
  primary key (task_id, name),
  foreign key (task_id, seq, state) references timeline (task_id, id, to_state),
  check ((state in ('leased', 'cancel_requested')) = (claim_id is not null)),
  check ((claim_id is null) = (holder is null) and (claim_id is null) = (lease_expires_at is null)),
  check (state <> 'cancel_requested' or cancel_id is not null),
  check (not (state in ('queued', 'leased') and cancel_id is not null)),
  check (not (state in ('queued', 'completed', 'cancelled', 'succeeded') and open_count > 0)),
  check ((check_claim_id is null) = (check_expires_at is null)),
  check ((withdraw_claim_id is null) = (withdraw_expires_at is null)),
  check (withdraw_claim_id is null or withdraw_due_at is not null),
  check (withdraw_due_at is null or state in ('submitted', 'received', 'in_progress', 'unconfirmed'))
) with (fillfactor = 70);
create index step_leases on step (lease_expires_at) where claim_id is not null;
create index step_due on step (next_run_at) where state in ('queued', 'unconfirmed');
create index step_checks on step (next_check_at) where next_check_at is not null;
-- Few rows, and the state's updates rewrite the indexes above anyway: how many are dead or uncertain, and since when.
create index step_troubled on step (state, since) where state in ('unconfirmed', 'dead');
create index step_unconfirmed on step (since) where state = 'unconfirmed';
create index step_receipts_due on step (receipt_due_at) where receipt_due_at is not null;
create index step_withdrawals on step (withdraw_due_at) where withdraw_due_at is not null;

-- Progress inside a step that changed nothing outside; reused by later attempts.
create table checkpoint (
  task_id uuid not null,
  step text not null,
  name text not null check (length(name) between 1 and 200),
  value jsonb not null,
  attempt integer not null,
  epoch bigint not null,
  at timestamptz not null,
  primary key (task_id, step, name),
  foreign key (task_id, step) references step (task_id, name)
);

-- One submission generation of an effect: all its requests share one idempotency key.
create table effect (
  id uuid primary key default uuidv7(),
  task_id uuid not null,
  step text not null,
  name text not null check (length(name) between 1 and 63),
  item text not null default '' check (length(item) <= 200),
  generation integer not null check (generation >= 1),
  kind text not null default 'effect' check (kind in ('effect', 'withdrawal')),
  key text not null check (length(key) <= 600),
  thread_id text not null check (length(thread_id) <= 200),
  submits boolean not null,
  dedupe_window_ms bigint,                      -- null: the other side does not dedupe
  visible_within_ms bigint not null,
  absence_is_proof boolean not null,
  timeout_ms bigint not null,
  live boolean not null default true,           -- false: this generation has ended
  status text not null default 'open' check (status in ('open','confirmed','refused','not_sent','absent','failed','withdrawn','voided','lost')),
  absent_established boolean not null default false,  -- a look proved absence once; an earlier request may still arrive
  absent_looks integer not null default 0,
  done boolean not null default false,          -- the other side said that it is done
  digest text check (length(digest) <= 64),     -- of the request; null: none
  external_id text check (length(external_id) <= 500),  -- null: not known
  result jsonb,                                 -- null: not known
  note jsonb,                                   -- what a review shows; null: nothing
  first_intent_at timestamptz not null,
  last_intent_at timestamptz not null,
  closed_at timestamptz,                        -- null: open
  unique (task_id, step, name, item, generation),
  foreign key (task_id, step) references step (task_id, name)
);
create unique index effect_live on effect (task_id, step, name, item) where live;

-- One request to the outside: the intent was written before the call, the outcome after it.
create table request (
  message_id uuid primary key,
  effect_id uuid not null references effect (id),
  task_id uuid not null,
  step text not null,
  attempt integer not null,
  epoch bigint not null,
  claim_id uuid,                                -- null: a withdrawal's that is not sent yet
  intent_at timestamptz not null,
  outcome text check (outcome in ('confirmed','refused','not_sent','absent','failed','withdrawn','voided')),  -- null: open
  outcome_at timestamptz,                       -- null: open
  late boolean not null default false,          -- the outcome came after the claim was lost
  error jsonb                                   -- null: none
);
create index request_effect on request (effect_id, intent_at);
create index request_task on request (task_id);

-- A receipt as it arrived, with its verdict. Disappears with its task alone.
create table receipt (
  id uuid primary key default uuidv7(),
  delivery_id text not null check (length(delivery_id) between 1 and 200),
  sender text not null check (length(sender) between 1 and 200),
  content_digest text not null,
  -- Step, thread and message as they came, where a person has matched it again; null: never.
  as_sent jsonb,
  task_ref text not null check (length(task_ref) <= 200),   -- as sent; may name no task
  task_id uuid,                                 -- null: no such task; it may be pruned
  step text not null check (length(step) <= 200),
  thread_id text check (length(thread_id) <= 200),          -- null: not sent
  in_reply_to text check (length(in_reply_to) <= 200),      -- null: not sent
  kind text not null check (kind in ('delivered','received','progress','completed','failed','text')),
  external_id text check (length(external_id) <= 500),      -- null: not sent
  code text check (length(code) <= 200),                    -- null: not sent
  artifact jsonb,                               -- null: not sent
  body jsonb not null default '{}',
  received_at timestamptz not null,
  deliveries integer not null default 1,
  verdict text,                                 -- null: stored, not judged yet
  verdict_at timestamptz,
  verdict_facts jsonb not null default '{}',
  effect_id uuid references effect (id),        -- the generation that it answers; null: none
  applied_at timestamptz,                       -- when it moved the step or closed its effect; null: not (yet)
  unique (sender, delivery_id, content_digest)
);
create index receipt_task on receipt (task_id, received_at);
create index receipt_delivery on receipt (delivery_id);
create index receipt_unmatched on receipt (id)
  where verdict is null or verdict in ('unknown_task', 'wrong_step', 'wrong_thread', 'wrong_message', 'wrong_external_id', 'sender_not_allowed');
create index receipt_effect on receipt (effect_id) where effect_id is not null;
create index receipt_received on receipt using brin (received_at);
create index receipt_unjudged on receipt (received_at) where verdict is null;

-- What a step made, in the content-addressed store, with its owner.
create table artifact (
  task_id uuid not null,
  step text not null,
  name text not null check (length(name) between 1 and 200),
  sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  uri text not null check (length(uri) <= 1000),
  media_type text not null check (length(media_type) <= 200),
  bytes bigint not null check (bytes >= 0),
  attempt integer not null,
  epoch bigint not null,
  at timestamptz not null,
  primary key (task_id, step, name, sha256),
  foreign key (task_id, step) references step (task_id, name)
);
create index artifact_sha256 on artifact (sha256);

-- One acceptance check and what it found; null: could not be checked.
create table acceptance (
  task_id uuid not null,
  step text not null,
  check_no integer not null,
  at timestamptz not null,
  found boolean,
  ours boolean,
  minimum boolean,
  detail jsonb not null default '{}',
  primary key (task_id, step, check_no),
  foreign key (task_id, step) references step (task_id, name)
);

-- A cancel as it was asked; idempotent by its id. Its verdicts are rows of cancel_step.
create table cancel (
  task_id uuid not null references task (id),
  id text not null check (length(id) between 1 and 200),
  verb text not null default 'cancel' check (verb in ('cancel', 'withdraw', 'abandon_wait')),
  step text check (length(step) <= 63),         -- null: the whole task
  by text not null check (length(by) between 1 and 200),
  why text not null check (length(why) between 1 and 2000),
  at timestamptz not null,
  primary key (task_id, id)
);

-- What a cancel found at one step, and its verdict.
create table cancel_step (
  task_id uuid not null,
  cancel_id text not null,
  step text not null,
  follows text,                                 -- an earlier open cancel that this one follows; null: none
  found text not null,
  in_flight jsonb not null default '[]',
  verdict text not null check (verdict in ('pending','prevented','stopped_at_boundary','too_late','withdrawn','needs_person','already_terminal')),
  reason text references reason (code),         -- null: nothing moved
  verdict_at timestamptz,                       -- null: pending
  deadline_at timestamptz,                      -- a pending verdict older than this is a finding; null: not pending
  primary key (task_id, cancel_id, step),
  foreign key (task_id, cancel_id) references cancel (task_id, id)
);

create index cancel_step_pending on cancel_step (deadline_at) where verdict = 'pending';

-- A replay as it was asked; idempotent by its id.
create table replay (
  task_id uuid not null references task (id),
  id text not null check (length(id) between 1 and 200),
  step text,                                    -- null: every dead step
  by text not null check (length(by) between 1 and 200),
  why text not null check (length(why) between 1 and 2000),
  options jsonb not null default '{}' check (octet_length(options::text) <= 262144),
  at timestamptz not null,
  result jsonb not null,
  primary key (task_id, id)
);

-- One replay or cancel of many, as it was asked. What it is about was frozen when it was made.
create table bulk (
  id uuid primary key,
  no bigint generated always as identity unique,  -- the order of lists
  kind text not null check (kind in ('replay', 'cancel')),
  filter jsonb not null,
  by text not null check (length(by) between 1 and 200),
  why text not null check (length(why) between 1 and 2000),
  options jsonb not null,
  rate_per_s numeric not null check (rate_per_s > 0),
  status text not null default 'planned' check (status in ('planned', 'running', 'aborted', 'done')),
  created_at timestamptz not null,
  next_at timestamptz,                          -- when the next item may go; null: not running
  applied_at timestamptz,                       -- null: not applied
  applied_by text check (length(applied_by) between 1 and 200),  -- as applied_at
  aborted_at timestamptz,                       -- null: not aborted
  aborted_by text check (length(aborted_by) between 1 and 200),  -- as aborted_at
  aborted_why text check (length(aborted_why) between 1 and 2000),  -- as aborted_at
  ended_at timestamptz,                         -- when it was done or aborted; null: neither
  check ((status = 'running') = (next_at is not null)),
  check ((status in ('aborted', 'done')) = (ended_at is not null))
);
create index bulk_running on bulk (next_at) where status = 'running';

-- One of the many, and what became of it.
create table bulk_item (
  bulk_id uuid not null references bulk (id),
  ordinal integer not null,
  task_id uuid not null,                        -- the task may be pruned
  step text check (length(step) between 1 and 63),  -- null: the whole task
  found jsonb not null,                         -- as it was frozen: state, reason, since
  foreseen jsonb not null,                      -- what would have happened to it then
  result text not null default 'pending' check (result in ('pending', 'done', 'refused', 'skipped')),
  code text check (length(code) <= 63),         -- of a refusal; null: not refused
  details jsonb not null default '{}',
  tries integer not null default 0,             -- turns at which somebody else held the task
  at timestamptz,                               -- null: pending
  primary key (bulk_id, ordinal),
  unique nulls not distinct (bulk_id, task_id, step),
  check ((result = 'refused') = (code is not null)),
  check ((result = 'pending') = (at is null))
);
create index bulk_item_pending on bulk_item (bulk_id, tries, ordinal) where result = 'pending';
create index bulk_item_result on bulk_item (bulk_id, result, code);

-- Wake-ups to be sent: at most one row a task; deleted only if its version is unchanged.
create table outbox (
  task_id uuid primary key references task (id),
  version bigint not null default 1,
  not_before timestamptz not null,
  taken_until timestamptz not null default '-infinity',
  attempts integer not null default 0,
  forced boolean not null default false,        -- the driver must ask, even if it has read the newest entry
  last_error text check (length(last_error) <= 1000),       -- null: none
  parked_at timestamptz                         -- null: being sent; otherwise a person must un-park it
) with (fillfactor = 70);
create index outbox_due on outbox (not_before) where parked_at is null;

-- Who is told what: an endpoint for signed notifications.
create table webhook (
  id uuid primary key,
  url text not null check (length(url) between 1 and 2000),
  secrets jsonb not null,                       -- [{secret, until}], newest first; until null: in force. Emptied at removal
  events text[] not null check (cardinality(events) between 1 and 50),
  types text[] not null default '{}' check (cardinality(types) <= 100),  -- empty: tasks of every type
  enabled boolean not null default true,
  disabled_why text check (length(disabled_why) <= 2000),  -- null: enabled
  not_before timestamptz not null default '-infinity',     -- the endpoint asked to be left alone until then
  created_at timestamptz not null,
  created_by text not null check (length(created_by) between 1 and 200),
  changed_at timestamptz not null,
  changed_by text not null check (length(changed_by) between 1 and 200),
  removed_at timestamptz                        -- null: in use
);
create index webhook_enabled on webhook (id) where enabled;

-- The outbox's second kind: one message to one webhook, at most one for an event of a subject in a window.
create table notification (
  id uuid primary key default uuidv7(),         -- the webhook-id of every request that carries it
  webhook_id uuid not null references webhook (id),
  event text not null check (event ~ '^[a-z_]{1,30}\.[a-z_]{1,30}$'),
  task_id uuid,                                 -- null: about no task; the task may be pruned
  step text check (length(step) <= 63),         -- null: about the task as a whole
  subject text not null check (length(subject) between 1 and 200),
  window_key text not null check (length(window_key) between 1 and 100),
  at timestamptz not null,
  facts jsonb not null,
  body text check (length(body) <= 65536),      -- as first sent, and as sent ever after; null: not composed yet
  status text not null default 'pending' check (status in ('pending', 'sent', 'parked', 'dropped')),
  takes integer not null default 0,             -- names who may report a failure
  attempts integer not null default 0,
  not_before timestamptz not null,
  taken_until timestamptz not null default '-infinity',
  http_status integer,                          -- of the last answer; null: none
  last_error text check (length(last_error) <= 1000),  -- null: none
  ended_at timestamptz,                         -- when it was sent, parked or dropped; null: pending
  unique (subject, event, window_key, webhook_id)
);
create index notification_due on notification (webhook_id, not_before) where status = 'pending';
create index notification_list on notification (webhook_id, id);
create index notification_task on notification (task_id) where task_id is not null;

-- Dedupe keys, for ever, with digests of the input's paths so that a conflict can be named after pruning.
create table dedupe (
  type text not null,
  key text not null check (length(key) between 1 and 512),
  task_id uuid not null,
  digest text not null check (length(digest) = 64),
  digests jsonb not null,
  at timestamptz not null,
  primary key (type, key)
);

-- What is left of a task that was pruned: how it ended, how much there was, and the end of its timeline's chain. Everything but
-- who pruned it is read from the task by a trigger, which refuses one that must stay. Append-only.
create table pruned (
  task_id uuid primary key,
  type text not null check (length(type) <= 63),
  version integer not null,
  key text check (length(key) between 1 and 512),  -- null: not deduplicated
  status text not null references parent_rule (status),
  reason text not null references reason (code),
  seq bigint not null,
  steps jsonb not null,                         -- [{name, state, reason, attempt}]
  counts jsonb not null,
  created_at timestamptz not null,
  created_by text not null check (length(created_by) <= 200),
  ended_at timestamptz not null,
  again_of uuid unique,                         -- null: not a repetition of another task
  again_as uuid,                                -- null: it had no successor when it was pruned
  chain_head text not null check (chain_head ~ '^[0-9a-f]{64}$'),
  pruned_at timestamptz not null,
  pruned_by text not null check (length(pruned_by) between 1 and 200),
  xid xid8 not null                             -- the transaction in which the rest may go
);

-- A content that a pruned task referred to, until it is removed from the store or referred to again.
create table artifact_orphan (
  sha256 text primary key check (sha256 ~ '^[0-9a-f]{64}$'),
  uri text not null check (length(uri) <= 1000),
  since timestamptz not null,
  taken_at timestamptz,                         -- null: not being removed
  hold_ms bigint,                               -- null: not being removed
  check ((taken_at is null) = (hold_ms is null))
);

-- What was recovered, once in its window.
create table recovery (
  task_id uuid not null,
  step text not null default '',
  kind text not null check (length(kind) between 1 and 63),
  window_key text not null check (length(window_key) between 1 and 100),
  at timestamptz not null,
  -- Not repeated before.
  until timestamptz,
  by text not null check (length(by) <= 300),
  primary key (task_id, step, kind, window_key)
);

-- A worker process as it last showed itself, and what it offers.
create table worker (
  id text primary key check (length(id) between 1 and 300),
  offers jsonb not null,
  task_queue text not null check (length(task_queue) <= 200),
  seen_at timestamptz not null,
  clock_skew_ms bigint not null default 0,
  stopping boolean not null default false
);

-- Who may call the API: a token, known by its digest alone.
create table api_token (
  id uuid primary key,
  name text not null check (name ~ '^[a-z0-9][a-z0-9._-]{0,62}$'),
  hash text not null unique check (hash ~ '^[0-9a-f]{64}$'),  -- SHA-256 of the token, which is 256 random bits
  role text not null check (role in ('caller', 'reviewer', 'operator', 'platform', 'reader', 'admin')),
  types text[] not null default '{}' check (cardinality(types) <= 100),  -- empty: tasks of every type
  created_at timestamptz not null,
  created_by text not null check (length(created_by) between 1 and 200),
  expires_at timestamptz,                       -- null: never
  revoked_at timestamptz,                       -- null: in force
  revoked_by text check (length(revoked_by) between 1 and 200),  -- null: in force
  used_at timestamptz                           -- null: never; written once in a few minutes
);
create unique index api_token_name on api_token (name) where revoked_at is null;

-- A secret that a platform signs its receipts with. Several may be in force, so that it can change over.
create table sender_key (
  id uuid primary key,
  sender text not null check (length(sender) between 1 and 200),
  secret text not null check (length(secret) between 1 and 200),
  created_at timestamptz not null,
  created_by text not null check (length(created_by) between 1 and 200),
  expires_at timestamptz,                       -- null: never
  revoked_at timestamptz,                       -- null: in force; the secret is then forgotten
  revoked_by text check (length(revoked_by) between 1 and 200)  -- null: in force
);
create index sender_key_sender on sender_key (sender) where revoked_at is null;

/** A limit on everything, unit last, with its reason. Relations between limits are asserted by a test. */
export const LIMITS = {
  /** Fits a Postgres row without pages of TOAST for each list; larger inputs belong into the artifact store. */
  input_bytes_max: 256 * 1024,
  /** Stored in the step's row and read by each later step. */
  result_bytes_max: 256 * 1024,
  checkpoint_bytes_max: 256 * 1024,
  checkpoints_per_step_max: 1_000,
  receipt_bytes_max: 64 * 1024,
  /** An error's text as stored; the rest is cut, and how much is said. */
  error_text_chars_max: 4_000,
  error_causes_max: 5,
  key_chars_max: 512,
  name_chars_max: 63,
  item_chars_max: 200,
  actor_chars_max: 200,
  why_chars_max: 2_000,
  evidence_chars_max: 4_000,
  /** Effects that one replay sets aside. */
  replay_void_max: 500,
  external_id_chars_max: 500,
  steps_per_task_max: 50,
  effects_per_step_max: 50,
  artifacts_per_step_max: 500,
  /** One artifact in the local store. */
  artifact_bytes_max: 512 * 1024 * 1024,
  attempts_max: 10_000,
  checks_max: 1_000,
  /** Items of one batch, and all that they say together; a chunk is one transaction and one round trip. */
  batch_max: 1_000,
  batch_bytes_max: 16 * 1024 * 1024,
  batch_chunk_rows: 200,
  batch_chunk_bytes: 1024 * 1024,
  priority_max: 5,
  fairness_key_bytes_max: 64,
  page_rows_max: 500,
  page_rows_default: 50,
  lease_ms_min: 1_000,
  lease_ms_default: 15_000,
  lease_ms_max: 15 * 60_000,
  /** Between an intent's answer and the send: past it the call is not made. */
  send_permission_ms: 5_000,
  /** A lease outlives permission and call by this, so that the outcome can be recorded. */
  lease_margin_ms: 2_000,
  call_timeout_ms_default: 10_000,
  call_timeout_ms_max: 10 * 60_000,
  attempt_timeout_ms_default: 10 * 60_000,
  attempt_timeout_ms_max: 24 * 3_600_000,
  backoff_ms_max: 7 * 24 * 3_600_000,
  delay_ms_max: 10 * 365 * 24 * 3_600_000,
  retry_after_ms_max: 7 * 24 * 3_600_000,
  receipt_wait_ms_default: 10 * 60_000,
  review_reminder_ms_default: 24 * 3_600_000,
  cancel_verdict_ms: 10 * 60_000,
  /** Frozen by one bulk replay or cancel: what a person can still look through, made in one transaction. */
  bulk_items_max: 10_000,
  bulk_rate_per_s_default: 10,
  bulk_rate_per_s_max: 1_000,
  bulk_voids_max: 50,
  /** Items of one turn, which is one transaction. */
  bulk_batch_rows: 25,
  bulk_interval_ms: 500,
  dispatch_batch_rows: 100,
  dispatch_interval_ms: 100,
  dispatch_attempts_max: 20,
  sweep_interval_ms: 1_000,
  sweep_batch_rows: 200,
  /** A due row without a claim for this long has a silent driver. */
  driver_silence_ms: 10_000,
  /** It is woken; again after three times that, doubled up to this while nothing else happens. */
  driver_wake_ms_max: 15 * 60_000,
  /** So often Temporal is asked for runs that were terminated, and for the drivers of the next open tasks. */
  drift_interval_ms: 5_000,
  drift_batch_rows: 200,
  /** The walk over all open tasks begins anew at most so often, and passes over drivers that were heard of since. */
  drift_cycle_ms: 60_000,
  /** A driver that was lost is started again after this long, doubled while nothing else happens. */
  driver_restart_ms: 5_000,
  driver_restart_ms_max: 3_600_000,
  /** From so many restarts without progress on, the driver counts as failing. */
  driver_restarts_max: 6,
  webhook_url_chars_max: 2_000,
  webhook_types_max: 100,
  /** The longest wait for an endpoint's answer, connecting included. */
  webhook_timeout_ms: 15_000,
  /** Of an answer's body, which is read only so that the endpoint may finish it. */
  webhook_answer_bytes_max: 64 * 1024,
  /** With the waits between them about a day and a half; then a notification is parked. */
  webhook_attempts_max: 12,
  webhook_headline_chars_max: 500,
  /** How long the secret before signs as well. */
  webhook_overlap_ms_default: 24 * 3_600_000,
  webhook_overlap_ms_max: 30 * 24 * 3_600_000,
  notify_batch_rows: 50,
  /** Of one webhook at once: an endpoint that hangs holds up none of the others. */
  notify_each_rows: 10,
  notify_interval_ms: 1_000,
  /** Longer than sending takes: another sender may take the row when its holder has surely given up. */
  notify_hold_ms: 60_000,
  /** A step that is unconfirmed for this long is worth telling, and again after each window. */
  notify_unconfirmed_ms: 15 * 60_000,
  notify_window_ms: 24 * 3_600_000,
  /** One transaction of a prune: well below a second, so that it holds nobody up. */
  prune_batch_rows_default: 200,
  prune_batch_rows_max: 1_000,
  /** How long the removal of what no task refers to may begin, once it was taken; the ledger keeps it closed for ten times that. */
  orphan_hold_ms: 60_000,
  orphan_batch_rows: 50,
  worker_seen_ms: 15_000,
  /** Between two looks at the timeline by a process that streams it. */
  event_poll_ms: 200,
  event_page_rows: 500,
  /** The newest entries are kept for all readers of a process; who is further behind reads the ledger. */
  event_recent_rows: 2_000,
  event_marks_max: 100,
  /** A stream says that it is alive this often: below the idle limits of common proxies. */
  event_beat_ms: 15_000,
  /** Streams of one API process at once. */
  event_streams_max: 500,
  /** One request may wait this long for a task's end: below the limits of common proxies. */
  api_wait_seconds_max: 30,
  /** The largest body: a batch. Other routes take one input and what goes with it. */
  api_body_bytes_max: 1024 * 1024,
  api_requests_per_minute_max: 6_000,
  /** Requests without a token in force, from one address. */
  api_refusals_per_minute_max: 120,
  /** Rows that the audit shows of each finding; it counts them all. */
  audit_rows_max: 20,
  /** What was due this long ago and has found nobody is a finding: several times what the sweeper needs. */
  audit_late_ms: 5 * 60_000,
  /** Rows that each part of the metrics' read looks at. */
  gauge_rows_max: 50_000,
  /** Temporal refuses more than 10,000 signals in a run, and reading one again costs about 1 ms; a new run starts long before. */
  signals_per_run_max: 500,
  history_events_max: 8_000,
} as const;

export type LimitName = keyof typeof LIMITS;

-- Enqueueing from any language, in the caller's own transaction: the public SQL door.

-- Subject, action and version of a resource as one key, as a definition's `dedupeKey` makes it.
create or replace function throughline.natural_key(subject text, action text, resource_version text) returns text language sql immutable strict as $$
  select string_agg((
    select coalesce(string_agg(case when chr(b.x) ~ '[A-Za-z0-9_.!~*''()-]' and b.x < 128 then chr(b.x) else '%' || upper(lpad(to_hex(b.x), 2, '0')) end, '' order by b.n), '')
    from (select get_byte(convert_to(p.part, 'UTF8'), n) as x, n from generate_series(0, octet_length(convert_to(p.part, 'UTF8')) - 1) n) b), '/' order by p.n)
  from unnest(array[subject, action, resource_version]) with ordinality p (part, n)
$$;

-- A text of a caller that must say something and is bounded.
create or replace function throughline._bounded(p text, p_path text, p_chars integer) returns text language plpgsql immutable as $$
begin
  if btrim(p, E' \t\n\r') = '' then perform throughline._refuse(jsonb_build_object('error', 'REASON_REQUIRED', 'path', p_path), 'It must not be empty.'); end if;
  if length(p) > p_chars then perform throughline._refuse(jsonb_build_object('error', 'INPUT_TOO_LARGE', 'path', p_path, 'limit', p_chars), 'The text is longer than its limit.'); end if;
  return p;
end $$;

create or replace function throughline._time(p timestamptz, p_path text) returns timestamptz language plpgsql volatile as $$
begin
  if not isfinite(p) or p > throughline.now() + interval '10 years' then
    perform throughline._refuse(jsonb_build_object('error', 'TIME_INVALID', 'path', p_path, 'limit', 'ten years from now'), 'The time lies too far away.');
  end if;
  return p;
end $$;

-- Accepts a task: what `client.enqueue` does, with the same keys, limits and codes. Its input is read by the schema of the type
-- when a worker takes it. Refusals: SQLSTATE TL010 with {"error": code, …} in DETAIL; 40001 with SERIALIZATION where the
-- caller's isolation can't see who was first. A service's role needs throughline_enqueuer alone.
create or replace function throughline.enqueue(
  type text, input jsonb, key text default null, run_at timestamptz default null, delay interval default null, deadline_at timestamptz default null,
  again_of uuid default null, priority integer default null, fairness_key text default null, fairness_weight double precision default null,
  version integer default null, id uuid default null, by text default null
) returns throughline.enqueued language plpgsql set extra_float_digits = 1 as $$
declare
  v_bytes_max integer;
  v_answer jsonb;
  v_digests jsonb;
begin
  if enqueue.input is null then perform throughline._refuse('{"error": "INPUT_INVALID", "path": "/input"}', 'The input must be JSON.'); end if;
  perform throughline._bounded(coalesce(enqueue.type, ''), '/type', 63);
  perform throughline._bounded(enqueue.key, '/key', 512);
  perform throughline._bounded(enqueue.by, '/by', 200);
  if enqueue.run_at is not null and enqueue.delay is not null then perform throughline._refuse('{"error": "TIME_INVALID", "path": "/delay"}', 'Give run_at or delay, not both.'); end if;
  if not isfinite(enqueue.delay) or enqueue.delay < interval '0' or enqueue.delay > interval '10 years' then
    perform throughline._refuse('{"error": "TIME_INVALID", "path": "/delay", "limit": "0 to ten years"}', 'The delay is out of its limits.');
  end if;
  perform throughline._time(enqueue.run_at, '/run_at'), throughline._time(enqueue.deadline_at, '/deadline_at');
  if enqueue.priority not between 1 and 5 then perform throughline._refuse('{"error": "INPUT_INVALID", "path": "/priority", "limit": "1 to 5"}', 'The priority is out of its limits.'); end if;
  if enqueue.fairness_key is not null then
    perform throughline._bounded(enqueue.fairness_key, '/fairness_key', 64);
    if octet_length(enqueue.fairness_key) > 64 then perform throughline._refuse('{"error": "INPUT_TOO_LARGE", "path": "/fairness_key", "limit": "64 bytes"}', 'The key is longer than its limit.'); end if;
  elsif enqueue.fairness_weight is not null then
    perform throughline._refuse('{"error": "INPUT_INVALID", "path": "/fairness_weight"}', 'A weight says how much a fairness key gets: give the key as well.');
  end if;
  if enqueue.fairness_weight not between 0.001 and 1000 then perform throughline._refuse('{"error": "INPUT_INVALID", "path": "/fairness_weight", "limit": "0.001 to 1000"}', 'The weight is out of its limits.'); end if;

  select y.input_bytes_max into v_bytes_max from throughline.task_type y
  where y.type = enqueue.type and (enqueue.version is null or y.version = enqueue.version) order by y.version desc limit 1;
  if not found then perform throughline._refuse(jsonb_build_object('error', 'TYPE_UNKNOWN', 'type', enqueue.type, 'version', enqueue.version), 'No worker has registered this task type.'); end if;
  if octet_length(enqueue.input::text) > v_bytes_max and octet_length(throughline._canonical(enqueue.input, '/input')) > v_bytes_max then
    perform throughline._refuse(jsonb_build_object('error', 'INPUT_TOO_LARGE', 'path', '/input', 'limit', v_bytes_max), 'The input is larger than its limit, counted as UTF-8 JSON.');
  end if;
  v_digests := throughline._input_digests(enqueue.input);
  v_answer := throughline.task_enqueue(jsonb_strip_nulls(jsonb_build_object('type', enqueue.type, 'version', enqueue.version, 'key', enqueue.key, 'id', enqueue.id,
      'run_at', enqueue.run_at, 'delay_ms', throughline._ms(enqueue.delay), 'deadline_at', enqueue.deadline_at, 'again_of', enqueue.again_of, 'priority', enqueue.priority,
      'fairness_key', enqueue.fairness_key, 'fairness_weight', enqueue.fairness_weight, 'by', coalesce(enqueue.by, 'database:' || session_user)))
    || jsonb_build_object('raw', true, 'input', enqueue.input, 'digest', throughline._digest(enqueue.input, '/input'), 'digests', v_digests));
  if v_answer ->> 'error' = 'DEDUPE_CONFLICT' then
    v_answer := v_answer - 'digests' || jsonb_build_object('paths', throughline._differing_paths(v_answer -> 'digests', v_digests));
    perform throughline._refuse(v_answer, 'This key belongs to a task with another input; it differs at ' || (select string_agg(x, ', ') from jsonb_array_elements_text(v_answer -> 'paths') x) || '.');
  elsif v_answer ? 'error' then
    perform throughline._refuse(v_answer, case v_answer ->> 'error' when 'AGAIN_TAKEN' then 'The task already has a successor.' when 'TASK_UNKNOWN' then 'There is no task with this id.'
        when 'TASK_PRUNED' then 'The task was pruned: enqueue a new one without again_of.'
      when 'ID_CONFLICT' then 'This id was used for another request.' else 'The task was refused.' end);
  end if;
  return row((v_answer ->> 'id')::uuid, v_answer ->> 'state', (v_answer ->> 'created')::boolean)::throughline.enqueued;
exception when serialization_failure then
  raise exception 'SERIALIZATION: The transaction met another one: run it again from its start.' using errcode = '40001', detail = '{"error": "SERIALIZATION"}';
end $$;

-- JSON in the one spelling of src/define/canonical.ts, so that a key means the same through every door.

-- Ends the call with a code of the catalogue: SQLSTATE TL010, the refusal as JSON in DETAIL.
create or replace function throughline._refuse(p jsonb, p_sentence text) returns void language plpgsql as $$
begin
  raise exception '%: %', p ->> 'error', p_sentence || coalesce(' (at ' || (p ->> 'path') || ')', '') || coalesce(' (limit: ' || (p ->> 'limit') || ')', '')
    using errcode = 'TL010', detail = p::text;
end $$;

-- Sorts as UTF-16 does: characters beyond U+FFFF before those from U+E000 on.
create or replace function throughline._utf16(p text) returns bytea language sql immutable as $$
  select case when p !~ '[\U00010000-\U0010FFFF]' then convert_to(p, 'UTF8') else (
    select string_agg(case when ascii(c.x) < 65536 then convert_to(c.x, 'UTF8') else decode('ed'
        || to_hex(160 + (((ascii(c.x) - 65536) >> 10) >> 6)) || to_hex(128 + (((ascii(c.x) - 65536) >> 10) & 63))
        || 'ed' || to_hex(176 + (((ascii(c.x) - 65536) & 1023) >> 6)) || to_hex(128 + ((ascii(c.x) - 65536) & 63)), 'hex') end, '' order by c.n)
    from string_to_table(p, null) with ordinality c (x, n)) end
$$;

-- A part of a JSON pointer as src/define/pointer.ts writes it: bounded, nothing hidden, different keys stay different.
create or replace function throughline._pointer_token(p text) returns text language plpgsql immutable as $$
declare
  v_shown text := '';
  v_units integer := 0;
  c text;
begin
  if length(p) > 32 or p ~ '[\u0001-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]' then
    foreach c in array string_to_array(p, null) loop
      v_units := v_units + case when ascii(c) > 65535 then 2 else 1 end;
      exit when v_units > 64;
      v_shown := v_shown || case
        when ascii(c) = 10 then chr(9226) when ascii(c) = 9 then chr(9225)
        when ascii(c) < 32 then chr(9216 + ascii(c))
        when ascii(c) = 127 then chr(9249)
        when ascii(c) between 128 and 159 or ascii(c) in (8206, 8207, 65279) or ascii(c) between 8232 and 8238 or ascii(c) between 8294 and 8297
          then '⟨U+' || lpad(upper(to_hex(ascii(c))), 4, '0') || '⟩'
        else c end;
    end loop;
    if v_shown <> p then v_shown := v_shown || '…' || left(encode(sha256(convert_to(to_json(p)::text, 'UTF8')), 'hex'), 8); end if;
  else
    v_shown := p;
  end if;
  return replace(replace(v_shown, '~', '~0'), '/', '~1');
end $$;

-- A number as JavaScript writes it: the shortest decimal that reads back as the same double. Refuses what no double holds:
-- infinite ones, and whole numbers that would become others (an id beyond 2^53).
create or replace function throughline._canonical_number(p text, p_path text) returns text language plpgsql immutable as $$
declare
  v_number numeric;
  v_double float8;
  m text[];
  v_sign text;
  v_digits text;
  v_shorter text;
  v_point integer;  -- the value is 0.digits times ten to this power
  v_text text;
  k integer;
begin
  if p ~ '^-?[1-9][0-9]{0,14}$' then return p; end if;
  v_number := p::numeric;
  -- The least double above zero, halved: what lies nearer to zero is zero.
  if abs(v_number) <= 2.4703282292062327e-324 then return '0'; end if;
  if abs(v_number) >= 1.7976931348623158079e308 then
    perform throughline._refuse(jsonb_build_object('error', 'INPUT_NOT_STORABLE', 'path', p_path), 'The number is larger than any that JSON readers know.');
  end if;
  v_double := p::float8;
  m := regexp_match(v_double::text, '^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$');
  v_sign := m[1];
  v_digits := m[2] || coalesce(m[3], '');
  v_point := length(m[2]) + coalesce(m[4]::integer, 0);
  v_point := v_point - (length(v_digits) - length(ltrim(v_digits, '0')));
  v_digits := rtrim(ltrim(v_digits, '0'), '0');
  -- Postgres leaves out the decimals at the very edge of what reads back as this double; JavaScript takes them if they are shorter.
  if length(v_digits) > 1 then
    foreach v_shorter in array array[left(v_digits, -1), (left(v_digits, -1)::numeric + 1)::text] loop
      continue when (v_shorter || 'e' || (v_point - length(v_digits) + 1))::numeric >= 1.7976931348623158079e308;
      if (v_sign || v_shorter || 'e' || (v_point - length(v_digits) + 1))::float8 = v_double then
        v_point := v_point + length(v_shorter) - (length(v_digits) - 1);
        v_digits := rtrim(v_shorter, '0');
        exit;
      end if;
    end loop;
  end if;
  k := length(v_digits);
  v_text := v_sign || case
    when v_point between k and 21 then v_digits || repeat('0', v_point - k)
    when v_point between 1 and 21 then left(v_digits, v_point) || '.' || substr(v_digits, v_point + 1)
    when v_point between -5 and 0 then '0.' || repeat('0', -v_point) || v_digits
    else left(v_digits, 1) || case when k > 1 then '.' || substr(v_digits, 2) else '' end || 'e' || case when v_point > 0 then '+' else '-' end || abs(v_point - 1) end;
  if v_number = trunc(v_number) and v_text::numeric <> v_number then
    perform throughline._refuse(jsonb_build_object('error', 'INPUT_NOT_STORABLE', 'path', p_path), 'This whole number would become another one in a JSON reader; send it as text.');
  end if;
  return v_text;
end $$;

-- p_path: where the value stands, for refusals. p_depth: how many values hold it.
create or replace function throughline._canonical(p jsonb, p_path text, p_depth integer default 0) returns text language plpgsql immutable as $$
declare
  v_kind text := jsonb_typeof(p);
begin
  if p_depth >= 100 and v_kind in ('object', 'array') then
    perform throughline._refuse(jsonb_build_object('error', 'INPUT_NOT_STORABLE', 'path', '/input', 'limit', '100 levels'), 'The value is nested too deep.');
  end if;
  return case v_kind
    when 'object' then '{' || coalesce((select string_agg(to_json(e.key)::text || ':' || case when jsonb_typeof(e.value) in ('object', 'array', 'number')
        then throughline._canonical(e.value, p_path || '/' || throughline._pointer_token(e.key), p_depth + 1) else e.value::text end, ',' order by throughline._utf16(e.key))
      from jsonb_each(p) e), '') || '}'
    when 'array' then '[' || coalesce((select string_agg(case when jsonb_typeof(e.value) in ('object', 'array', 'number')
        then throughline._canonical(e.value, p_path || '/' || (e.n - 1), p_depth + 1) else e.value::text end, ',' order by e.n)
      from jsonb_array_elements(p) with ordinality e (value, n)), '') || ']'
    when 'number' then throughline._canonical_number(p::text, p_path)
    else p::text end;
end $$;

create or replace function throughline._digest(p jsonb, p_path text) returns text language sql immutable as $$
  select encode(sha256(convert_to(throughline._canonical(p, p_path), 'UTF8')), 'hex')
$$;

-- A digest (16 characters) for each path of an input, level by level, at most 200; what does not fit stays folded.
create or replace function throughline._input_digests(p jsonb) returns jsonb language plpgsql immutable as $$
declare
  v_paths text[] := array['/input'];
  v_values jsonb[] := array[p];
  v_digests jsonb := jsonb_build_object('/input', left(throughline._digest(p, '/input'), 16));
  v_size integer := 1;
  v_children integer;
  c record;
  i integer := 1;
begin
  while i <= cardinality(v_paths) loop
    v_children := case jsonb_typeof(v_values[i]) when 'object' then (select count(*) from jsonb_object_keys(v_values[i])) when 'array' then jsonb_array_length(v_values[i]) else 0 end;
    if v_children > 0 and v_size + v_children <= 200 then
      for c in
        select v_paths[i] || '/' || throughline._pointer_token(e.key) as path, e.value from jsonb_each(case when jsonb_typeof(v_values[i]) = 'object' then v_values[i] else '{}' end) e
        order by throughline._utf16(e.key)
      loop
        v_paths := v_paths || c.path; v_values := v_values || c.value;
        v_digests := v_digests || jsonb_build_object(c.path, left(throughline._digest(c.value, c.path), 16));
      end loop;
      for c in
        select v_paths[i] || '/' || (e.n - 1) as path, e.value from jsonb_array_elements(case when jsonb_typeof(v_values[i]) = 'array' then v_values[i] else '[]' end) with ordinality e (value, n)
        order by e.n
      loop
        v_paths := v_paths || c.path; v_values := v_values || c.value;
        v_digests := v_digests || jsonb_build_object(c.path, left(throughline._digest(c.value, c.path), 16));
      end loop;
      v_size := v_size + v_children;
    end if;
    i := i + 1;
  end loop;
  return v_digests;
end $$;

-- The deepest paths in which two inputs differ, as differingPaths of src/define/canonical.ts.
create or replace function throughline._differing_paths(a jsonb, b jsonb) returns jsonb language sql immutable as $$
  with pa as (select k, regexp_replace(k, '/[^/]*$', '') as parent from jsonb_object_keys(a) k),
    pb as (select k, regexp_replace(k, '/[^/]*$', '') as parent from jsonb_object_keys(b) k),
    differing as (
      select k, regexp_replace(k, '/[^/]*$', '') as parent from (select k from pa union select k from pb) u
      where case when a ? u.k and b ? u.k then a -> u.k <> b -> u.k
        else regexp_replace(u.k, '/[^/]*$', '') in (select parent from pa) and regexp_replace(u.k, '/[^/]*$', '') in (select parent from pb) end)
  select coalesce(jsonb_agg(d.k order by throughline._utf16(d.k)), '[]') from differing d where d.k not in (select parent from differing)
$$;

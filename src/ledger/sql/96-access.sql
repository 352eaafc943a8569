-- Who may call the API, and with which secrets platforms sign. Tokens are known by digest; no answer here shows a secret but the sender's own check.

create or replace function throughline._token_answer(t throughline.api_token) returns jsonb language sql stable as $$
  select jsonb_build_object('id', t.id, 'name', t.name, 'role', t.role, 'types', t.types, 'created_at', throughline._iso(t.created_at), 'created_by', t.created_by,
    'expires_at', throughline._iso(t.expires_at), 'revoked_at', throughline._iso(t.revoked_at), 'revoked_by', t.revoked_by, 'used_at', throughline._iso(t.used_at),
    'in_force', t.revoked_at is null and (t.expires_at is null or t.expires_at > throughline.now()))
$$;

-- Adds a token: {id, name, hash, role, types, expires_in_ms?, by}. Idempotent by id and hash. A name is free again once its token was revoked.
create or replace function throughline.token_add(p jsonb) returns jsonb language plpgsql as $$
declare
  v_now timestamptz := throughline.now();
  t throughline.api_token;
begin
  insert into throughline.api_token (id, name, hash, role, types, created_at, created_by, expires_at)
  values ((p ->> 'id')::uuid, p ->> 'name', p ->> 'hash', p ->> 'role', array(select jsonb_array_elements_text(p -> 'types')), v_now, p ->> 'by',
    v_now + throughline._interval((p ->> 'expires_in_ms')::numeric))
  on conflict do nothing;
  select * into t from throughline.api_token where id = (p ->> 'id')::uuid and hash = p ->> 'hash';
  if not found then return jsonb_build_object('error', 'NAME_TAKEN', 'path', '/name', 'name', p ->> 'name'); end if;
  return throughline._token_answer(t);
end $$;

-- Ends a token, by id or by the name that is in force: {token, by}.
create or replace function throughline.token_revoke(p jsonb) returns jsonb language plpgsql as $$
declare
  t throughline.api_token;
begin
  update throughline.api_token set revoked_at = throughline.now(), revoked_by = p ->> 'by'
  where (id::text = p ->> 'token' or name = p ->> 'token') and revoked_at is null returning * into t;
  if not found then return jsonb_build_object('error', 'TOKEN_UNKNOWN', 'token', p ->> 'token'); end if;
  return throughline._token_answer(t);
end $$;

-- The token with this digest, if it is in force; null otherwise. Notes the use once in five minutes.
create or replace function throughline.token_use(p_hash text) returns jsonb language plpgsql as $$
declare
  v_now timestamptz := throughline.now();
  t throughline.api_token;
begin
  select * into t from throughline.api_token where hash = p_hash and revoked_at is null and (expires_at is null or expires_at > v_now);
  if not found then return null; end if;
  if t.used_at is null or t.used_at < v_now - interval '5 minutes' then
    update throughline.api_token set used_at = v_now where id = t.id;
  end if;
  return throughline._token_answer(t);
end $$;

create or replace function throughline.token_list() returns jsonb language sql volatile as $$
  select coalesce(jsonb_agg(throughline._token_answer(t) order by t.created_at, t.id), '[]') from throughline.api_token t
$$;

create or replace function throughline._sender_key_answer(k throughline.sender_key) returns jsonb language sql stable as $$
  select jsonb_build_object('id', k.id, 'sender', k.sender, 'created_at', throughline._iso(k.created_at), 'created_by', k.created_by, 'expires_at', throughline._iso(k.expires_at),
    'revoked_at', throughline._iso(k.revoked_at), 'revoked_by', k.revoked_by, 'in_force', k.revoked_at is null and (k.expires_at is null or k.expires_at > throughline.now()))
$$;

-- Adds a key: {id, sender, secret, expires_in_ms?, by}. Idempotent by id. Those before stay in force until they are revoked.
create or replace function throughline.sender_key_add(p jsonb) returns jsonb language plpgsql as $$
declare
  v_now timestamptz := throughline.now();
  k throughline.sender_key;
begin
  insert into throughline.sender_key (id, sender, secret, created_at, created_by, expires_at)
  values ((p ->> 'id')::uuid, p ->> 'sender', p ->> 'secret', v_now, p ->> 'by', v_now + throughline._interval((p ->> 'expires_in_ms')::numeric))
  on conflict (id) do nothing;
  select * into k from throughline.sender_key where id = (p ->> 'id')::uuid and sender = p ->> 'sender';
  if not found then return jsonb_build_object('error', 'ID_CONFLICT', 'id', p ->> 'id'); end if;
  return throughline._sender_key_answer(k);
end $$;

-- Ends a key and forgets its secret: {by}.
create or replace function throughline.sender_key_revoke(p_id uuid, p jsonb) returns jsonb language plpgsql as $$
declare
  k throughline.sender_key;
begin
  update throughline.sender_key set revoked_at = throughline.now(), revoked_by = p ->> 'by', secret = '-' where id = p_id and revoked_at is null returning * into k;
  if not found then return jsonb_build_object('error', 'SENDER_KEY_UNKNOWN', 'id', p_id); end if;
  return throughline._sender_key_answer(k);
end $$;

-- null: of every sender.
create or replace function throughline.sender_key_list(p_sender text) returns jsonb language sql volatile as $$
  select coalesce(jsonb_agg(throughline._sender_key_answer(k) order by k.created_at, k.id), '[]') from throughline.sender_key k where p_sender is null or k.sender = p_sender
$$;

-- The secrets in force of a sender, newest first, and the ledger's time to check their timestamps with.
create or replace function throughline.sender_secrets(p_sender text) returns jsonb language sql volatile as $$
  select jsonb_build_object('now', throughline._iso(throughline.now()), 'secrets', coalesce((
    select jsonb_agg(secret order by created_at desc, id) from throughline.sender_key
    where sender = p_sender and revoked_at is null and (expires_at is null or expires_at > throughline.now())), '[]'))
$$;

# A member: 0 is the primary, the others stream from it. What is on the volume already is gone on with.
export PGDATA=/data/postgresql
PATH=$(echo /usr/lib/postgresql/*/bin):$PATH
install -d -o postgres -g postgres -m 700 /data "$PGDATA"
as() { setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  if [ "$ORDINAL" = 0 ]; then
    as initdb --username=postgres --auth=trust --encoding=UTF8 --locale=C >/dev/null
    as sh -c 'cat >> "$PGDATA/postgresql.conf"' <<'CONF'
listen_addresses = '*'
wal_keep_size = 256MB
CONF
    as sh -c 'cat >> "$PGDATA/pg_hba.conf"' <<'CONF'
host all all 0.0.0.0/0 trust
host replication all 0.0.0.0/0 trust
CONF
  else
    until as pg_basebackup --host="$PRIMARY" --username=postgres --pgdata="$PGDATA" --write-recovery-conf --wal-method=stream --checkpoint=fast; do
      find "$PGDATA" -mindepth 1 -delete
      sleep 1
    done
  fi
fi
exec setpriv --reuid=postgres --regid=postgres --init-groups postgres

exec setpriv --reuid=postgres --regid=postgres --init-groups /usr/lib/postgresql/*/bin/pg_ctl --pgdata=/data/postgresql --mode=fast stop

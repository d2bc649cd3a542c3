# A member: 0 is the primary, the others replicate from it.
set -- --port 6379 --bind 0.0.0.0 --protected-mode no --dir /data --appendonly yes
if [ "$ORDINAL" != 0 ]; then set -- "$@" --replicaof "$PRIMARY" 6379; fi
exec redis-server "$@"

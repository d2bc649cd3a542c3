# Makes a cluster of nodes that do not know each other, half of them replicas.
set --
for member in $MEMBERS; do set -- "$@" "$(getent ahostsv4 "$member" | head -n 1 | cut -d ' ' -f 1):6379"; done
redis-cli --cluster create "$@" --cluster-replicas 1 --cluster-yes
for member in $MEMBERS; do
  until redis-cli -h "$member" cluster info | grep -q '^cluster_state:ok'; do sleep 1; done
done

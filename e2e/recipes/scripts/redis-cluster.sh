# A node. Who it is, and whom it knows, is on its volume.
exec redis-server --port 6379 --bind 0.0.0.0 --protected-mode no --dir /data --appendonly yes \
  --cluster-enabled yes --cluster-config-file /data/nodes.conf --cluster-node-timeout 5000 --cluster-announce-ip "$POD_IP"

# A server. Its number is one more than its ordinal.
mkdir -p /data/log
echo $((ORDINAL + 1)) > /data/myid
cat > /tmp/zoo.cfg <<CONF
dataDir=/data
tickTime=2000
initLimit=10
syncLimit=5
clientPort=2181
maxClientCnxns=0
quorumListenOnAllIPs=true
admin.enableServer=true
admin.serverPort=8080
CONF
number=0
for member in $MEMBERS; do
  number=$((number + 1))
  echo "server.$number=$member:2888:3888" >> /tmp/zoo.cfg
done
exec java -Xmx160m -Dsun.net.inetaddr.ttl=1 -Dsun.net.inetaddr.negative.ttl=1 -cp '/etc/zookeeper/conf:/usr/share/java/*' \
  org.apache.zookeeper.server.quorum.QuorumPeerMain /tmp/zoo.cfg

package main

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// cluster is a Redis Cluster: each value is a key on the master of its slot.
type cluster struct {
	client   *redis.ClusterClient
	replicas bool // Values reads the replicas
}

// openCluster does not retry except for redirections, which have changed nothing. An old address does not answer, and
// the library would wait 5 s for it.
func openCluster(hosts []string, replicas bool) database {
	addresses := make([]string, 0, len(hosts))
	for _, host := range hosts {
		addresses = append(addresses, host+":6379")
	}
	return &cluster{redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: addresses, MaxRetries: -1, ContextTimeoutEnabled: true, ReadOnly: replicas, DialTimeout: time.Second,
	}), replicas}
}

func (c *cluster) Prepare(ctx context.Context) error { return c.client.Ping(ctx).Err() }

func (c *cluster) Write(ctx context.Context, value string) error {
	return c.client.Set(ctx, value, "", 0).Err()
}

func (c *cluster) Values(ctx context.Context) ([]string, error) {
	c.client.ReloadState(ctx)
	var lock sync.Mutex
	var all []string
	each := c.client.ForEachMaster
	if c.replicas {
		each = c.client.ForEachSlave
	}
	err := each(ctx, func(ctx context.Context, node *redis.Client) error {
		keys, err := node.Keys(ctx, "*").Result()
		lock.Lock()
		defer lock.Unlock()
		all = append(all, keys...)
		return err
	})
	return all, err
}

func (c *cluster) Close() { c.client.Close() }

package main

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// redisServer is one server.
type redisServer struct{ client *redis.Client }

// entries is the set that values are added to.
const entries = "entries"

// openRedis does not retry: each write is counted once.
func openRedis(host string) database {
	return &redisServer{redis.NewClient(&redis.Options{Addr: host + ":6379", MaxRetries: -1, ContextTimeoutEnabled: true})}
}

func (r *redisServer) Prepare(ctx context.Context) error { return r.client.Ping(ctx).Err() }

func (r *redisServer) Write(ctx context.Context, value string) error {
	return r.client.SAdd(ctx, entries, value).Err()
}

func (r *redisServer) Values(ctx context.Context) ([]string, error) {
	return r.client.SMembers(ctx, entries).Result()
}

func (r *redisServer) Close() { r.client.Close() }

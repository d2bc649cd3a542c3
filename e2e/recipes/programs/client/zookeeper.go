package main

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"
)

// ensemble is ZooKeeper: each value is a child node of parent.
type ensemble struct{ conn *zk.Conn }

const parent = "/entries"

// names resolves the servers at each connection. The library's own provider resolves them once, and has only old
// addresses after all of them have moved.
type names struct {
	servers    []string
	last, next int
}

// Init implements zk.HostProvider.
func (n *names) Init(servers []string) error {
	n.servers, n.last, n.next = servers, -1, 0
	return nil
}

// Len implements zk.HostProvider.
func (n *names) Len() int { return len(n.servers) }

// Next implements zk.HostProvider. All servers were tried when it returns to the one that was connected last.
func (n *names) Next() (server string, retryStart bool) {
	n.next = (n.next + 1) % len(n.servers)
	retryStart = n.next == n.last
	if n.last == -1 {
		n.last = 0
	}
	return n.servers[n.next], retryStart
}

// Connected implements zk.HostProvider.
func (n *names) Connected() { n.last = n.next }

func openZooKeeper(hosts []string) (database, error) {
	addresses := make([]string, 0, len(hosts))
	for _, host := range hosts {
		addresses = append(addresses, host+":2181")
	}
	conn, _, err := zk.Connect(addresses, 10*time.Second, zk.WithLogInfo(false), zk.WithHostProvider(&names{}))
	return &ensemble{conn}, err
}

func (e *ensemble) Prepare(context.Context) error {
	_, err := e.conn.Create(parent, nil, 0, zk.WorldACL(zk.PermAll))
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// Write waits until ctx ends; a write without an answer may still take effect.
func (e *ensemble) Write(ctx context.Context, value string) error {
	done := make(chan error, 1)
	go func() {
		_, err := e.conn.Create(parent+"/"+value, nil, 0, zk.WorldACL(zk.PermAll))
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Values returns the values of a server that has caught up with the leader.
func (e *ensemble) Values(context.Context) ([]string, error) {
	if _, err := e.conn.Sync(parent); err != nil {
		return nil, err
	}
	children, _, err := e.conn.Children(parent)
	return children, err
}

func (e *ensemble) Close() { e.conn.Close() }

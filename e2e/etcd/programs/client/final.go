package main

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/sliceshift/sliceshift/e2e/etcd/programs/history"
)

// final requests everything that was written from each member separately.
func (s *settings) final(ctx context.Context) error {
	var all []history.Final
	for _, endpoint := range s.members() {
		found, err := ask(ctx, endpoint)
		if err != nil {
			return fmt.Errorf("%s: %w", endpoint, err)
		}
		all = append(all, found)
	}
	return s.Keep(all)
}

func ask(ctx context.Context, endpoint string) (history.Final, error) {
	const patience = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	kv, err := connect(endpoint)
	if err != nil {
		return history.Final{}, err
	}
	defer kv.Close()
	found := history.Final{Endpoint: endpoint, Start: time.Now(), Keys: map[string]string{}}
	for _, prefix := range []string{history.Registers, history.Entries} {
		answer, err := kv.Get(ctx, prefix, clientv3.WithPrefix())
		if err != nil {
			return history.Final{}, err
		}
		for _, kv := range answer.Kvs {
			found.Keys[string(kv.Key)] = string(kv.Value)
		}
	}
	found.End = time.Now()
	return found, nil
}

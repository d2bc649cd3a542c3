// Command client writes to and reads from etcd at a steady rate, and records every operation.
//
//	client run     until it receives a signal: one operation a line into -out
//	client final   the current answer of each member, into -out
package main

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/sliceshift/sliceshift/e2e/steady"
)

// settings are the values of the flags.
type settings struct {
	steady.Client
	endpoints string
	keys      int
}

func main() {
	s := &settings{Client: steady.Client{Timeout: 500 * time.Millisecond}}
	steady.Program{
		Client: &s.Client, Usage: "-endpoints URL,... -out FILE",
		Flags: func(flags *flag.FlagSet) {
			flags.StringVar(&s.endpoints, "endpoints", "", "the members, with commas")
			flags.IntVar(&s.keys, "keys", 6, "how many registers there are")
		},
		Run: s.run, Final: s.final,
	}.Main()
}

// members returns the endpoints.
func (s *settings) members() []string { return strings.Split(s.endpoints, ",") }

// connect returns a client with an application's usual settings, except one: it retries a member that was away within
// a second. The delay of gRPC's default grows to two minutes.
func connect(endpoints ...string) (*clientv3.Client, error) {
	again := backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}
	return clientv3.New(clientv3.Config{
		Endpoints: endpoints, DialTimeout: time.Second, DialKeepAliveTime: 6 * time.Second, DialKeepAliveTimeout: time.Second,
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{Backoff: again, MinConnectTimeout: time.Second})},
	})
}

// run performs operations until ctx ends.
func (s *settings) run(ctx context.Context) error {
	kv, err := connect(s.members()...)
	if err != nil {
		return err
	}
	defer kv.Close()
	return s.Work(ctx, func(within context.Context, w steady.Worker) any { return do(within, kv, s.operation(w)) })
}

// operation returns the next operation of a worker: writes and reads alternate, each on another register.
func (s *settings) operation(w steady.Worker) steady.Operation {
	op := steady.Operation{Client: w.Name, Kind: steady.Write, Key: fmt.Sprintf("%s%d", steady.Registers, (w.Number+w.N/2)%s.keys)}
	if w.N%2 == 1 {
		op.Kind = steady.Read
	} else {
		op.Value = fmt.Sprintf("%s-%d", w.Name, w.N)
		op.Entry = steady.Entries + op.Value
	}
	return op
}

// do executes an operation.
func do(ctx context.Context, kv *clientv3.Client, op steady.Operation) steady.Operation {
	var err error
	op.Start = time.Now()
	if op.Kind == steady.Write {
		_, err = kv.Txn(ctx).Then(clientv3.OpPut(op.Key, op.Value), clientv3.OpPut(op.Entry, op.Value)).Commit()
	} else {
		op.Value, err = read(ctx, kv, op.Key)
	}
	return op.Ended(err)
}

func read(ctx context.Context, kv *clientv3.Client, key string) (string, error) {
	answer, err := kv.Get(ctx, key)
	if err != nil || len(answer.Kvs) == 0 {
		return "", err
	}
	return string(answer.Kvs[0].Value), nil
}

// final requests everything that was written from each member separately.
func (s *settings) final(ctx context.Context) error {
	var all []steady.Final
	for _, endpoint := range s.members() {
		found, err := ask(ctx, endpoint)
		if err != nil {
			return fmt.Errorf("%s: %w", endpoint, err)
		}
		all = append(all, found)
	}
	return s.Keep(all)
}

func ask(ctx context.Context, endpoint string) (steady.Final, error) {
	const patience = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	kv, err := connect(endpoint)
	if err != nil {
		return steady.Final{}, err
	}
	defer kv.Close()
	found := steady.Final{Endpoint: endpoint, Start: time.Now(), Keys: map[string]string{}}
	for _, prefix := range []string{steady.Registers, steady.Entries} {
		answer, err := kv.Get(ctx, prefix, clientv3.WithPrefix())
		if err != nil {
			return steady.Final{}, err
		}
		for _, kv := range answer.Kvs {
			found.Keys[string(kv.Key)] = string(kv.Value)
		}
	}
	found.End = time.Now()
	return found, nil
}

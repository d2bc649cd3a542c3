// Command client writes to and reads from etcd at a steady rate, and records every operation.
//
//	client run     until it is asked to end: one operation a line into -out
//	client final   what each member answers now, into -out
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// settings are what the flags say.
type settings struct {
	endpoints []string
	out, name string
	workers   int
	keys      int
	interval  time.Duration
	timeout   time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("usage: client run|final -endpoints URL,... -out FILE")
	}
	s := settings{}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	endpoints := flags.String("endpoints", "", "the members, with commas")
	flags.StringVar(&s.out, "out", "", "the file to write")
	flags.StringVar(&s.name, "name", "client", "how the operations are signed")
	flags.IntVar(&s.workers, "workers", 4, "how many operations are in flight at most")
	flags.IntVar(&s.keys, "keys", 6, "how many registers there are")
	flags.DurationVar(&s.interval, "interval", 40*time.Millisecond, "how often a worker begins an operation")
	flags.DurationVar(&s.timeout, "timeout", 500*time.Millisecond, "how long an operation may take")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	s.endpoints = strings.Split(*endpoints, ",")
	switch args[0] {
	case "run":
		return run(ctx, s)
	case "final":
		return final(ctx, s)
	}
	return fmt.Errorf("%q is neither run nor final", args[0])
}

// connect makes a client as an application would, but for one setting: the way to a member
// that was away is tried again within a second, where gRPC's default grows to two minutes.
func connect(endpoints ...string) (*clientv3.Client, error) {
	again := backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}
	return clientv3.New(clientv3.Config{
		Endpoints: endpoints, DialTimeout: time.Second, DialKeepAliveTime: 6 * time.Second, DialKeepAliveTimeout: time.Second,
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{Backoff: again, MinConnectTimeout: time.Second})},
	})
}

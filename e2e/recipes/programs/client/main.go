// Command client writes to a database at a steady rate, and records every write.
//
//	client run     until it is asked to end: writes, one line of -out each
//	client final   what each member has now, into -out; of a cluster, all masters and all replicas
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
)

// settings are what the flags say.
type settings struct {
	system, name, out string
	members           []string
	workers           int
	interval, timeout time.Duration
}

// database is one member.
type database interface {
	// Prepare makes what is written to, where it is not there.
	Prepare(ctx context.Context) error
	// Write adds a value. It is acknowledged when there is no error.
	Write(ctx context.Context, value string) error
	// Values are all that were added.
	Values(ctx context.Context) ([]string, error)
	Close()
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
		return errors.New("usage: client run|final -system NAME -members HOST,... -out FILE")
	}
	s := settings{}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.StringVar(&s.system, "system", "", "postgresql, redis, redis-cluster or zookeeper")
	flags.StringVar(&s.name, "name", "client", "how the writes are signed")
	flags.StringVar(&s.out, "out", "", "the file to write")
	members := flags.String("members", "", "host names, with commas")
	flags.IntVar(&s.workers, "workers", 4, "how many writes are in flight at most")
	flags.DurationVar(&s.interval, "interval", 40*time.Millisecond, "how often a worker writes")
	flags.DurationVar(&s.timeout, "timeout", time.Second, "how long a write may take")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	s.members = strings.Split(*members, ",")
	switch args[0] {
	case "run":
		return run(ctx, s)
	case "final":
		return final(ctx, s)
	}
	return fmt.Errorf("%q is neither run nor final", args[0])
}

// open connects to members that are one database.
func (s settings) open(members ...string) (database, error) {
	switch s.system {
	case "postgresql":
		return openPostgreSQL(members[0])
	case "redis":
		return openRedis(members[0]), nil
	case "redis-cluster":
		return openCluster(members, false), nil
	case "zookeeper":
		return openZooKeeper(members)
	}
	return nil, fmt.Errorf("%q is no system that this client knows", s.system)
}

// copies are the databases that each hold all that was written, by their names, the first of them the one
// that takes writes.
func (s settings) copies() (names []string, open map[string]func() (database, error)) {
	if s.system == "redis-cluster" {
		masters := func() (database, error) { return openCluster(s.members, false), nil }
		replicas := func() (database, error) { return openCluster(s.members, true), nil }
		return []string{"masters", "replicas"}, map[string]func() (database, error){"masters": masters, "replicas": replicas}
	}
	open = map[string]func() (database, error){}
	for _, member := range s.members {
		open[member] = func() (database, error) { return s.open(member) }
	}
	return s.members, open
}

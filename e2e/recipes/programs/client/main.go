// Command client writes to a database at a steady rate, and records every write.
//
//	client run     until it is asked to end: writes to the first member, one line of -out each
//	client final   what each member has now, into -out
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
	flags.StringVar(&s.system, "system", "", "postgresql or redis")
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

func (s settings) open(member string) (database, error) {
	switch s.system {
	case "postgresql":
		return openPostgreSQL(member)
	case "redis":
		return openRedis(member), nil
	}
	return nil, fmt.Errorf("%q is neither postgresql nor redis", s.system)
}

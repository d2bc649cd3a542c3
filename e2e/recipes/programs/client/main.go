// Command client writes to a database at a steady rate, and records every write.
//
//	client run     until it receives a signal: writes, one line of -out each
//	client final   the current values of each member, into -out; of a cluster, all masters and all replicas
package main

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/sliceshift/sliceshift/e2e/steady"
)

// settings are the values of the flags.
type settings struct {
	steady.Client
	system, hosts string
}

// database is one member.
type database interface {
	// Prepare creates the container of the values, unless it exists.
	Prepare(ctx context.Context) error
	// Write adds a value. It is acknowledged when there is no error.
	Write(ctx context.Context, value string) error
	// Values returns all added values.
	Values(ctx context.Context) ([]string, error)
	Close()
}

func main() {
	s := &settings{Client: steady.Client{Timeout: time.Second}}
	steady.Program{
		Client: &s.Client, Usage: "-system NAME -members HOST,... -out FILE",
		Flags: func(flags *flag.FlagSet) {
			flags.StringVar(&s.system, "system", "", "postgresql, redis, redis-cluster or zookeeper")
			flags.StringVar(&s.hosts, "members", "", "host names, with commas")
		},
		Run: s.run, Final: s.final,
	}.Main()
}

// members returns the hosts.
func (s *settings) members() []string { return strings.Split(s.hosts, ",") }

// open connects to members that form one database.
func (s *settings) open(members ...string) (database, error) {
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

// copies returns the databases that each hold everything that was written, by name. The first of them accepts writes.
func (s *settings) copies() (names []string, open map[string]func() (database, error)) {
	if s.system == "redis-cluster" {
		masters := func() (database, error) { return openCluster(s.members(), false), nil }
		replicas := func() (database, error) { return openCluster(s.members(), true), nil }
		return []string{"masters", "replicas"}, map[string]func() (database, error){"masters": masters, "replicas": replicas}
	}
	open = map[string]func() (database, error){}
	for _, member := range s.members() {
		open[member] = func() (database, error) { return s.open(member) }
	}
	return s.members(), open
}

// run writes until ctx ends.
func (s *settings) run(ctx context.Context) error {
	db, err := s.open(s.members()...)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := prepare(ctx, db); err != nil {
		return err
	}
	return s.Work(ctx, func(within context.Context, by steady.Worker) any {
		value := fmt.Sprintf("%s-%d", by.Name, by.N)
		op := steady.Operation{Client: by.Name, Kind: steady.Write, Value: value, Entry: value, Start: time.Now()}
		return op.Ended(db.Write(within, value))
	})
}

// prepare retries for a while: another client may do the same at that time.
func prepare(ctx context.Context, db database) error {
	const patience = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := db.Prepare(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return err
		}
	}
}

// final requests everything that was written from each copy separately. A replica gets some time to catch up with the
// first copy.
func (s *settings) final(ctx context.Context) error {
	const patience = time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var all []steady.Final
	names, open := s.copies()
	for _, member := range names {
		db, err := open[member]()
		if err != nil {
			return err
		}
		least := 0
		if len(all) > 0 {
			least = len(all[0].Keys)
		}
		values, err := caughtUp(ctx, db, least)
		db.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", member, err)
		}
		all = append(all, steady.Final{Endpoint: member, Keys: values})
	}
	return s.Keep(all)
}

// caughtUp returns the values of a copy, each under its own name, once it has that many, or at the timeout.
func caughtUp(ctx context.Context, db database, least int) (map[string]string, error) {
	for {
		values, err := db.Values(ctx)
		found := map[string]string{}
		for _, value := range values {
			found[value] = value
		}
		if err == nil && len(found) >= least {
			return found, nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return found, err
		}
	}
}

// Command client writes to and reads from etcd at a steady rate, and records every operation.
//
//	client run     until it receives a signal: one operation a line into -out
//	client final   the current answer of each member, into -out
package main

import (
	"flag"
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

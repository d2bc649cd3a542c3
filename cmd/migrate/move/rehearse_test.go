package move

import (
	"testing"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
)

// TestRehearseUsage: wrong flags are rejected before any cluster is contacted.
func TestRehearseUsage(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no destination":     {nil, "no destination is given"},
		"keep and cleanup":   {[]string{"--to-namespace", "store", "--keep", "--clean"}, "--keep and --clean exclude each other"},
		"a name to allow":    {[]string{"--to-namespace", "store", "--allow", "db.example.com:5432"}, "a NetworkPolicy has no host names"},
		"no time":            {[]string{"--to-namespace", "store", "--ready-within", "0s"}, "--ready-within must be positive"},
		"reason and recipe":  {[]string{"--to-namespace", "store", "--isolated", "it is", "--recipe", "etcd"}, "recipe etcd states whether it may be rehearsed"},
		"a Prometheus":       {[]string{"--to-namespace", "store", "--probe", "prom=https://p.example.com", "--probe-query", "requests=a", "--probe-query", "failed=b"}, "a rehearsal measures a URL"},
		"time before a time": {[]string{"--to-namespace", "store", "--probe-before", "-1s"}, "--probe-before must not be negative"},
		"another method":     {[]string{"--to-namespace", "store", "--method", "magic"}, "magic"},
		"a limit of nothing": {[]string{"--to-namespace", "store", "--latency-limit", "1s"}, "--latency-limit needs --probe URL"},
	} {
		t.Run(name, func(t *testing.T) {
			c := commandtest.New(Commands, append([]string{"rehearse", "web", "-n", "shop"}, tc.args...)...)
			c.Expect(t, command.ExitUsage, "", tc.want)
		})
	}
}

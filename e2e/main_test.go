// Package e2e moves applications between real control planes, every time under an
// independent auditor.
package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/e2e/cluster"
)

// east and west are shared by all tests: each works in namespaces of its own.
var east, west *cluster.Cluster

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	binary, err := cluster.Build(ctx, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	both, err := cluster.StartAll(ctx, cluster.Options{Binary: binary}, "east", "west")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	east, west = both[0], both[1]
	code := 1
	if err := prepare(ctx, both); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	_ = os.RemoveAll(programs.dir)
	for _, c := range both {
		if code != 0 {
			fmt.Fprintf(os.Stderr, "logs of cluster %s: %s\n", c.Name(), c.KeepLogs())
		}
		if err := c.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// prepare installs the resource definitions. The disruption controller looks for new
// kinds every 30 s only, so it is started anew.
func prepare(ctx context.Context, all []*cluster.Cluster) error {
	for _, each := range all {
		if err := installCRDs(each); err != nil {
			return err
		}
		if err := each.Kill(cluster.ControllerManager); err != nil {
			return err
		}
		if err := each.StartRole(ctx, cluster.ControllerManager); err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// shared is the kind clusters that stages share. Another process holds them: it takes them
// down when its input ends, which is so however this one ends.
type shared struct {
	cmd   *exec.Cmd
	lease io.Closer
	// variable tells the tests of the clusters.
	variable string
}

func (s *shared) env() []string {
	if s == nil {
		return nil
	}
	return []string{s.variable}
}

// share starts the clusters for the first stage that needs them.
func (r *run) share(ctx context.Context) {
	if r.shared != nil || r.now.Clusters != "" {
		return
	}
	fmt.Fprintln(os.Stdout, "==> kind clusters")
	begin := time.Now()
	done := row{Stage: "kind clusters"}
	s, err := startClusters(ctx, r.clusters())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		done.Failed, r.now.Clusters = err.Error(), "the kind clusters did not start"
	}
	r.shared, done.Took = s, time.Since(begin)
	r.rows = append(r.rows, done)
}

// clusters is how many the stages of this run need.
func (r *run) clusters() int {
	most := 0
	for _, each := range r.plan.Stages {
		if r.now.wanted(each) && r.now.turn(each) == "" {
			most = max(most, each.Clusters)
		}
	}
	return most
}

func startClusters(ctx context.Context, number int) (*shared, error) {
	args := []string{"run", "./e2e/kind/pair", "-until-input-ends"}
	if number > 2 {
		args = append(args, "-hub")
	}
	cmd := exec.Command("go", args...) // not of ctx: it ends with its input
	cmd.Stderr = os.Stderr
	lease, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = lease.Close() })
	defer stop()
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		_ = lease.Close()
		return nil, fmt.Errorf("the kind clusters did not start: %w", cmd.Wait())
	}
	return &shared{cmd: cmd, lease: lease, variable: strings.TrimSpace(line)}, nil
}

// giveBack takes the clusters down.
func (r *run) giveBack() {
	if r.shared == nil {
		return
	}
	_ = r.shared.lease.Close()
	if err := r.shared.cmd.Wait(); err != nil {
		r.rows = append(r.rows, row{Stage: "kind clusters, taken down", Failed: err.Error()})
	}
}

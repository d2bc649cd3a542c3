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

// shared is the kind clusters that stages share. Another process owns them. It deletes them when its input is closed,
// which happens however this process ends.
type shared struct {
	cmd   *exec.Cmd
	lease io.Closer
	// said is the end of its error output.
	said *ending
	// variable is the environment variable that names the clusters to tests.
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

// clusters returns how many clusters the stages of this run need.
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
	args := []string{"-C", "e2e", "run", "./kind/pair", "-until-input-ends"}
	if number > 2 {
		args = append(args, "-hub")
	}
	cmd := exec.Command("go", args...) // not CommandContext: it ends with its input
	said := &ending{}
	cmd.Stderr = io.MultiWriter(os.Stderr, said)
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
		return nil, fmt.Errorf("the kind clusters did not start: %w: %s", cmd.Wait(), said)
	}
	return &shared{cmd: cmd, lease: lease, said: said, variable: strings.TrimSpace(line)}, nil
}

// giveBack deletes the clusters.
func (r *run) giveBack() {
	if r.shared == nil {
		return
	}
	begin := time.Now()
	_ = r.shared.lease.Close()
	if err := r.shared.cmd.Wait(); err != nil {
		failed := fmt.Sprintf("%v: %s", err, r.shared.said)
		r.rows = append(r.rows, row{Stage: "kind clusters, taken down", Took: time.Since(begin), Failed: failed})
	}
}

// ending keeps the last lines that are written to it.
type ending struct{ text []byte }

// Write never fails.
func (e *ending) Write(text []byte) (int, error) {
	const most = 600
	e.text = append(e.text, text...)
	e.text = e.text[max(0, len(e.text)-most):]
	return len(text), nil
}

// String returns one line, for a table.
func (e *ending) String() string {
	return strings.Join(strings.FieldsFunc(string(e.text), func(r rune) bool { return r == '\n' || r == '\t' }), "; ")
}

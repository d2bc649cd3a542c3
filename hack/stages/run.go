package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// run is one run of stages.
type run struct {
	plan plan
	now  situation
	// commit is the commit under test, and turns the time for stages that take turns.
	commit string
	turns  time.Duration
	// keepGoing runs the rest after a stage has failed.
	keepGoing bool
	// dir is where the stages write the events of their tests.
	dir    string
	begin  time.Time
	rows   []row
	shared *shared
}

// all runs the stages of this run.
func (r *run) all(ctx context.Context) {
	defer r.giveBack()
	r.askForDocker(ctx)
	if r.now.Docker != "" { // other stages have their turn instead
		_ = r.chooseTurns() // it has succeeded before
	}
	for _, each := range r.plan.Stages {
		if !r.now.wanted(each) {
			continue
		}
		r.now.Elapsed = time.Since(r.begin)
		if ctx.Err() != nil {
			r.now.Stopped = "interrupted"
		}
		if each.Clusters > 0 && r.now.leaveOut(each) == "" {
			r.share(ctx)
		}
		if why := r.now.leaveOut(each); why != "" {
			r.rows = append(r.rows, row{Stage: each.Name, NotRun: why})
			continue
		}
		done := r.one(ctx, each)
		if r.rows = append(r.rows, done); done.Failed != "" && !r.keepGoing {
			r.now.Stopped = each.Name + " failed"
		}
	}
}

// one runs a stage.
func (r *run) one(ctx context.Context, each stage) row {
	fmt.Fprintf(os.Stdout, "==> %s: make %s\n", each.Name, each.Target)
	begin := time.Now()
	events := filepath.Join(r.dir, each.Target+".json")
	args := []string{"--no-print-directory", each.Target}
	if each.Since {
		args = append(args, "SINCE="+r.now.Since)
	}
	cmd := command(ctx, "make", args...)
	cmd.Env = append(cmd.Environ(), "GOTESTSUM_JSONFILE="+events)
	if each.Clusters > 0 {
		cmd.Env = append(cmd.Env, r.shared.env()...)
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err := cmd.Run()
	tested, unread := readTests(events)
	done := row{Stage: each.Name, Tested: tested, Took: time.Since(begin)}
	result := "ok"
	if err == nil {
		err = sound(tested)
	}
	if err := errors.Join(err, unread); err != nil {
		done.Failed = strings.ReplaceAll(err.Error(), "\n", "; ")
		result = "FAILED"
	}
	fmt.Fprintf(os.Stdout, "==> %s: %s after %d s\n", each.Name, result, seconds(done.Took))
	return done
}

// chooseTurns decides whose turn it is.
func (r *run) chooseTurns() (err error) {
	r.now.Turns, err = turnsOf(r.plan.takingTurns(r.now.Docker == ""), r.commit, r.turns)
	return err
}

// askForDocker checks whether Docker is available, if a stage of this run needs it. Clusters of the user do not need it.
func (r *run) askForDocker(ctx context.Context) {
	if os.Getenv("E2E_KUBECONFIGS") != "" {
		return
	}
	for _, each := range r.plan.Stages {
		if r.now.wanted(each) && each.Docker && r.now.turn(each) == "" {
			cmd := command(ctx, "go", "-C", "e2e", "run", "./kind/probe")
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			if cmd.Run() != nil {
				r.now.Docker = "docker cannot be had on this machine"
			}
			return
		}
	}
}

// command returns a command that is interrupted when ctx ends, with time to clean up.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Minute
	return cmd
}

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

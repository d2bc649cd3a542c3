package main

import (
	"context"
	"errors"
	"fmt"
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

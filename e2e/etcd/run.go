package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sliceshift/sliceshift/e2e/auditor"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
	"github.com/sliceshift/sliceshift/e2e/kind/stage"
)

const (
	// limit bounds a run.
	limit = 15 * time.Minute
	// poll is the interval between two checks of a condition.
	poll = 100 * time.Millisecond
	// steady is how long the application is observed before and after the move.
	steady = 10 * time.Second
)

// run is one running scenario.
type run struct {
	*theatre
	*stage.Play
	number   int
	scenario scenario
	timeline timeline
	phases   []phase

	// move counts the moves; struck has the faults that were injected, by their index.
	move     int
	struck   map[int]bool
	troubles errgroup.Group
}

// result holds the results of a run.
type result struct {
	name string
	answer
	audit  auditor.Report
	stays  []stay
	phases []phase
	load   string // load of the machine at the end of the move
}

// run deploys etcd to east, moves it to west while clients and the auditor observe it, and removes it.
func (s *theatre) run(ctx context.Context, number int, what scenario) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r := &run{theatre: s, number: number, scenario: what, Play: stage.Begin(s.pair, what.members()), struck: map[int]bool{}}
	r.Look = r.strikeDue
	fmt.Printf("\n%s\n", what.name)
	if err := r.deploy(ctx); err != nil {
		return result{}, err
	}
	shown, err := r.act(ctx)
	if err != nil {
		return result{}, err
	}
	return shown, stage.Clear(ctx, r.pair, r.Members)
}

// deploy starts etcd in east and creates the rights and objects that the move needs.
func (r *run) deploy(ctx context.Context) error {
	for _, c := range r.pair.Both() {
		err := errors.Join(setup.Namespace(ctx, c, namespace), setup.MoverIn(ctx, c, namespace), setup.MoverMay(ctx, c, namespace, setup.AsksPods), setup.MoverMay(ctx, c, namespace, setup.RunsPods))
		if err != nil {
			return err
		}
	}
	for _, object := range append(r.Members.Objects(folder(r.number)), statefulSet(r.Members)) {
		if err := setup.Create(ctx, r.pair.East, object); err != nil {
			return err
		}
	}
	if err := (fixture.App{Namespace: namespace, Name: name}).AwaitReady(ctx, r.pair.East.Client); err != nil {
		return err
	}
	r.Say("etcd of %d members is Ready in east", members)
	return nil
}

// act performs the run.
func (r *run) act(ctx context.Context) (result, error) {
	following, stop := context.WithCancel(ctx)
	defer stop()
	for _, c := range r.pair.Both() {
		go r.timeline.follow(following, c)
	}
	watching, err := stage.Audit(ctx, r.pair, r.Members)
	if err != nil {
		return result{}, err
	}
	if err := r.startClients(ctx); err != nil {
		return result{}, err
	}
	r.Say("clients in both clusters write and read")
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"before", undisturbed}, {"moving, turned round", r.moveAndTurn}, {"moving back", r.AwaitBack}, {"moving again", r.moveAgain}, {"after", undisturbed},
	} {
		if err := r.phase(ctx, step.name, step.do); err != nil {
			return result{}, err
		}
	}
	load, err := machineLoad()
	if err := errors.Join(err, r.stopClients(ctx), r.final(ctx)); err != nil {
		return result{}, err
	}
	shown := result{name: r.scenario.name, load: load, audit: watching.Finish(ctx), stays: r.timeline.all(), phases: r.phases}
	fmt.Println(shown.audit)
	if shown.answer, err = r.ask(ctx, r.question()); err != nil {
		return result{}, err
	}
	r.Say("%d operations judged", shown.Operations)
	return shown, nil
}

// phase records the time span of a step.
func (r *run) phase(ctx context.Context, name string, do func(context.Context) error) error {
	from := time.Now()
	if err := do(ctx); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r.phases = append(r.phases, phase{Name: name, From: from, Until: time.Now()})
	return nil
}

// undisturbed lets the clients work for a while.
func undisturbed(ctx context.Context) error { return pass(ctx, steady) }

// pass waits for a duration.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// question requests the measurement of every phase, of the three phases of the move together, and of the whole run.
func (r *run) question() question {
	first, last := r.phases[0], r.phases[len(r.phases)-1]
	during := phase{Name: "during", From: first.Until, Until: last.From}
	whole := phase{Name: "whole", From: first.From, Until: last.Until}
	q := question{Final: r.written("final"), Phases: []phase{first, during, last, whole}}
	for _, c := range r.pair.Both() {
		q.Histories = append(q.Histories, r.written(clientName(c)))
	}
	return q
}

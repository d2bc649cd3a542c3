package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/auditor"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
)

const (
	// limit bounds a run.
	limit = 8 * time.Minute
	// steady is how long the application is watched before and after the move.
	steady = 10 * time.Second
)

// play is one run.
type play struct {
	*stage
	number int
	scene  scene
	begin  time.Time
	lanes  lanes
	phases []phase

	// move counts the moves; struck are the troubles that have come, by their place.
	move     int
	struck   map[int]bool
	troubles errgroup.Group
}

// result is what a run showed.
type result struct {
	name string
	answer
	audit  auditor.Report
	stays  []stay
	phases []phase
	load   string // of the machine, at the end of the move
}

// play deploys etcd to east, moves it to west under the eyes of clients and auditor, and
// clears the stage.
func (s *stage) play(ctx context.Context, number int, what scene) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	p := &play{stage: s, number: number, scene: what, begin: time.Now(), struck: map[int]bool{}}
	fmt.Printf("\n%s\n", what.name)
	if err := p.deploy(ctx); err != nil {
		return result{}, err
	}
	r, err := p.act(ctx)
	if err != nil {
		return result{}, err
	}
	return r, p.clear(ctx)
}

// say prints a line with the seconds since the run began.
func (p *play) say(format string, args ...any) {
	fmt.Printf("%6.1f s  %s\n", time.Since(p.begin).Seconds(), fmt.Sprintf(format, args...))
}

// deploy starts etcd in east and gives whoever moves it what it needs.
func (p *play) deploy(ctx context.Context) error {
	for _, c := range p.pair.Both() {
		if err := errors.Join(setup.Namespace(ctx, c, namespace), setup.MoverIn(ctx, c, namespace)); err != nil {
			return err
		}
	}
	objects := append(names(), governing(), budget(), statefulSet())
	for _, member := range memberNames() {
		objects = append([]client.Object{volume(p.number, member)}, objects...)
	}
	for _, object := range objects {
		if err := setup.Create(ctx, p.pair.East, object); err != nil {
			return err
		}
	}
	if err := (fixture.App{Namespace: namespace, Name: name}).AwaitReady(ctx, p.pair.East.Client); err != nil {
		return err
	}
	p.say("etcd of %d members is Ready in east", members)
	return nil
}

// act is the run itself.
func (p *play) act(ctx context.Context) (result, error) {
	following, stop := context.WithCancel(ctx)
	defer stop()
	for _, c := range p.pair.Both() {
		go p.lanes.follow(following, c)
	}
	watching, err := p.audit(ctx)
	if err != nil {
		return result{}, err
	}
	if err := p.startClients(ctx); err != nil {
		return result{}, err
	}
	p.say("clients in both clusters write and read")
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"before", undisturbed}, {"moving, turned round", p.moveAndTurn}, {"moving back", p.awaitBack}, {"moving again", p.moveAgain}, {"after", undisturbed},
	} {
		if err := p.phase(ctx, step.name, step.do); err != nil {
			return result{}, err
		}
	}
	load, err := machineLoad()
	if err := errors.Join(err, p.stopClients(ctx), p.final(ctx)); err != nil {
		return result{}, err
	}
	r := result{name: p.scene.name, load: load, audit: watching.Finish(ctx), stays: p.lanes.all(), phases: p.phases}
	fmt.Println(r.audit)
	if r.answer, err = p.ask(ctx, p.question()); err != nil {
		return result{}, err
	}
	p.say("%d operations judged", r.Operations)
	return r, nil
}

// phase notes when something was done.
func (p *play) phase(ctx context.Context, name string, do func(context.Context) error) error {
	from := time.Now()
	if err := do(ctx); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p.phases = append(p.phases, phase{Name: name, From: from, Until: time.Now()})
	return nil
}

// undisturbed lets the clients work.
func undisturbed(ctx context.Context) error { return pass(ctx, steady) }

// pass lets time pass.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// question has every phase measured, the three of the move together, and the whole.
func (p *play) question() question {
	first, last := p.phases[0], p.phases[len(p.phases)-1]
	during := phase{Name: "during", From: first.Until, Until: last.From}
	whole := phase{Name: "whole", From: first.From, Until: last.Until}
	q := question{Final: p.written("final"), Phases: []phase{first, during, last, whole}}
	for _, c := range p.pair.Both() {
		q.Histories = append(q.Histories, p.written(clientName(c)))
	}
	return q
}

func (p *play) audit(ctx context.Context) (*auditor.Auditor, error) {
	side := func(c *kind.Cluster) auditor.Side {
		return auditor.Side{Name: c.Name, Config: c.Config, Namespace: namespace, Set: name}
	}
	return auditor.Start(ctx, auditor.Options{Source: side(p.pair.East), Destination: side(p.pair.West), Budget: 1})
}

// clear removes what the run made in both clusters. The folder with its data stays.
func (p *play) clear(ctx context.Context) error {
	if err := p.removeMigration(ctx); err != nil {
		return err
	}
	for _, c := range p.pair.Both() {
		if err := c.Client.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}); err != nil {
			return err
		}
		if err := setup.RemoveMover(ctx, c, namespace); err != nil {
			return err
		}
	}
	for _, c := range p.pair.Both() {
		err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
			_, err := c.Client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
		if err != nil {
			return fmt.Errorf("cluster %s: namespace %s does not go: %w", c.Name, namespace, err)
		}
		if err := c.Client.CoreV1().PersistentVolumes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			return err
		}
	}
	return nil
}

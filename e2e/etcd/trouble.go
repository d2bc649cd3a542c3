package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/disks"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
	"github.com/sliceshift/sliceshift/e2e/kind/stage"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
)

// The provisioners of copied data.
const (
	eastDriver = "east.example.com"
	westDriver = "west.example.com"
)

// scenario is the variation of a run.
type scenario struct {
	name    string
	strikes []strike
	// copied moves each member's data by a copy from a disk of east's provisioner to a disk of west's. Otherwise the
	// data is in one folder, which is mounted into all nodes.
	copied bool
	// inPlace changes the StorageClass of the members in east, instead of moving them.
	inPlace bool
}

// strike is a fault that happens once, while a member is down in the first or the second move.
type strike struct {
	move    int
	ordinal int32
	do      func(context.Context, *run) error
}

// scenarios returns that many undisturbed runs, one run with each fault, and the runs that copy the data.
func scenarios(undisturbed int) []scenario {
	var all []scenario
	for i := range undisturbed {
		all = append(all, scenario{name: fmt.Sprintf("run %d", i+1)})
	}
	return append(all,
		scenario{name: "manager killed twice", strikes: []strike{{1, 2, killManager}, {2, 1, killManager}}},
		scenario{name: "west's API server frozen", strikes: []strike{{2, 1, freezeWest}}},
		scenario{name: "copied to disks of another provisioner", copied: true},
		scenario{name: "copied, manager and movers killed", copied: true, strikes: []strike{{1, 2, killManager}, {2, 2, killMover}, {2, 1, killManager}, {2, 0, killMover}}},
		scenario{name: "storage class changed in place", inPlace: true})
}

// run is one running scenario.
type run struct {
	*stage.Trial
	scenario scenario
	timeline timeline
	// struck has the faults that were injected, by their index.
	struck   map[int]bool
	troubles errgroup.Group
}

// result holds the results of a run.
type result struct {
	name string
	stage.Result
	stays []stay
}

// limit bounds a run.
const limit = 15 * time.Minute

// play runs a scenario.
func (what scenario) play(ctx context.Context, pair *kind.Pair, number int) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	fmt.Printf("\n%s\n", what.name)
	r := &run{scenario: what, struck: map[int]bool{}, Trial: &stage.Trial{
		Pair: pair, Members: app, Name: fmt.Sprintf("run-%d", number), Container: container(), Grace: 30, Roles: []string{setup.AsksPods, setup.RunsPods},
		Recipe: "etcd", Volume: api.VolumeSpec{ClaimTemplate: "data", Shared: true}, Turn: members - 2,
		Client: clientImage, Args: func(string) []string { return []string{"-endpoints=" + clientURLs()} },
		Ended: func(context.Context) error { return nil },
	}}
	if what.copied {
		r.Members.Class = disks.Late(eastDriver)
		r.Volume = api.VolumeSpec{ClaimTemplate: "data", Method: api.MethodCopy, StorageClassName: new(disks.Late(westDriver)), Copy: api.CopySpec{
			Image: stage.ManagerImage, ServiceType: corev1.ServiceTypeNodePort,
		}}
	}
	if what.inPlace {
		r.Members.Class, r.InPlace = disks.Late(eastDriver), true
		r.Volume = api.VolumeSpec{ClaimTemplate: "data", Method: api.MethodCopy, StorageClassName: new(eastDriver), Copy: api.CopySpec{Image: stage.ManagerImage}}
	}
	r.Ready = func(context.Context) error {
		for _, c := range pair.Both() {
			go r.timeline.follow(ctx, c)
		}
		return nil
	}
	r.Look, r.Moved = r.strikeDue, r.survived
	shown, err := r.Run(ctx)
	return result{name: what.name, Result: shown, stays: r.timeline.all()}, err
}

// strikeDue starts the faults that are due, and does not wait for them.
func (r *run) strikeDue(ctx context.Context, _ *api.Migration) {
	for i, s := range r.scenario.strikes {
		if r.struck[i] || r.Move != s.move || !r.Stopped(ctx, s.ordinal) {
			continue
		}
		r.struck[i] = true
		r.troubles.Go(func() error { return s.do(ctx, r) })
	}
}

// survived waits for the end of all faults, and fails if one was never injected.
func (r *run) survived(context.Context) error {
	if err := r.troubles.Wait(); err != nil {
		return err
	}
	if missing := len(r.scenario.strikes) - len(r.struck); missing > 0 {
		return fmt.Errorf("%s: %d faults were not injected", r.scenario.name, missing)
	}
	return nil
}

// killManager kills the processes of the manager like the OOM killer. The kubelet restarts them.
func killManager(ctx context.Context, r *run) error {
	r.Say("the manager is killed")
	return kind.In(ctx, r.Pair.East.Worker(), "pkill", "-KILL", "-x", "manager")
}

// killMover kills the process of the first running mover.
func killMover(ctx context.Context, r *run) error {
	const poll = 100 * time.Millisecond
	return wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		for _, c := range r.Pair.Both() {
			pods, err := c.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: manifest.RoleLabelKey})
			if err != nil {
				return false, err
			}
			for i := range pods.Items {
				if n, err := kind.Kill(pods.Items[i].UID, "mover"); n > 0 || err != nil {
					r.Say("the process of mover %s in %s is killed", pods.Items[i].Name, c.Name)
					return n > 0, err
				}
			}
		}
		return false, nil
	})
}

// freezeWest freezes the machine of west's control plane. The pods of west, including its DNS, are on another machine.
func freezeWest(ctx context.Context, r *run) error {
	const frozen = 30 * time.Second
	west := r.Pair.West
	r.Say("west's API server is frozen for %.0f s", frozen.Seconds())
	if err := kind.Freeze(ctx, west.ControlPlane()); err != nil {
		return err
	}
	if err := fixture.Pass(ctx, frozen); err != nil {
		return err
	}
	r.Say("west's API server runs again")
	return west.Thaw(ctx, west.ControlPlane())
}

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/disks"
	"github.com/sliceshift/sliceshift/e2e/kind/stage"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
)

// scenario is the variation of a run.
type scenario struct {
	name    string
	strikes []strike
	// copied moves each member's data by a copy from a disk of east's provisioner to a disk of west's. Otherwise the
	// data is in one folder, which is mounted into all nodes.
	copied bool
}

// The provisioners of copied data.
const (
	eastDriver = "east.example.com"
	westDriver = "west.example.com"
)

// members returns the members of etcd, with the volumes of this scenario.
func (s scenario) members() stage.Members {
	members := app
	if s.copied {
		members.Class = disks.Late(eastDriver)
	}
	return members
}

// volume returns how a member's data gets to the other side.
func (s scenario) volume() api.VolumeSpec {
	if !s.copied {
		return api.VolumeSpec{ClaimTemplate: "data", Shared: true}
	}
	return api.VolumeSpec{ClaimTemplate: "data", Method: api.MethodCopy, StorageClassName: new(disks.Late(westDriver)), Copy: api.CopySpec{
		Image: stage.ManagerImage, ServiceType: corev1.ServiceTypeNodePort,
	}}
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
		scenario{name: "copied, manager and movers killed", copied: true, strikes: []strike{{1, 2, killManager}, {2, 2, killMover}, {2, 1, killManager}, {2, 0, killMover}}})
}

// strikeDue starts the faults that are due, and does not wait for them.
func (r *run) strikeDue(ctx context.Context, _ *api.Migration) {
	for i, s := range r.scenario.strikes {
		if r.struck[i] || r.move != s.move || !r.Stopped(ctx, s.ordinal) {
			continue
		}
		r.struck[i] = true
		r.troubles.Go(func() error { return s.do(ctx, r) })
	}
}

// survived waits for the end of all faults, and fails if one was never injected.
func (r *run) survived() error {
	if err := r.troubles.Wait(); err != nil {
		return err
	}
	if missing := len(r.scenario.strikes) - len(r.struck); missing > 0 {
		return fmt.Errorf("%s: %d times it did not come to that", r.scenario.name, missing)
	}
	return nil
}

// killManager kills the processes of the manager like the OOM killer. The kubelet restarts them.
func killManager(ctx context.Context, r *run) error {
	r.Say("the manager is killed")
	return kind.In(ctx, r.pair.East.Worker(), "pkill", "-KILL", "-x", "manager")
}

// killMover kills the process of the first running mover.
func killMover(ctx context.Context, r *run) error {
	return wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		for _, c := range r.pair.Both() {
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
	west := r.pair.West
	r.Say("west's API server is frozen for %.0f s", frozen.Seconds())
	if err := kind.Freeze(ctx, west.ControlPlane()); err != nil {
		return err
	}
	if err := pass(ctx, frozen); err != nil {
		return err
	}
	r.Say("west's API server goes on")
	return west.Thaw(ctx, west.ControlPlane())
}

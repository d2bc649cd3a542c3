// Package stage is shared by the demonstrations that move an application between two kind clusters while clients use
// it. It has the clusters with the names of the clusterset, the shipped manager, members that keep their
// names, and pods that run a task.
package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sliceshift/sliceshift/e2e/built"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
	"github.com/sliceshift/sliceshift/e2e/mcs"
)

// The images of every stage.
const (
	dnsImage = "sliceshift/coredns:e2e"
	// ManagerImage contains the mover too.
	ManagerImage = "sliceshift/manager:e2e"
)

// poll is the interval between two checks of a condition.
const poll = 100 * time.Millisecond

// On runs do on two clusters in which the names of the clusterset resolve to pods of either cluster, with the manager in
// the first of them, and removes the clusters. dir, below out/, has the logs of the nodes if do fails. build builds the
// images of the application and returns their names.
func On(ctx context.Context, name string, build func(ctx context.Context, dir string) ([]string, error), do func(ctx context.Context, dir string, pair *kind.Pair) error) (err error) {
	dir, err := kind.EmptyDir(name)
	if err != nil {
		return err
	}
	begin := time.Now()
	pair, err := kind.Up(ctx, dir, os.Stderr)
	if err != nil {
		return err
	}
	if pair.Own() {
		return errors.New("this needs clusters of its own: unset E2E_KUBECONFIGS")
	}
	defer func() {
		ctx := context.WithoutCancel(ctx)
		if err != nil {
			err = errors.Join(err, pair.KeepLogs(ctx))
		}
		err = errors.Join(err, pair.Down(ctx))
	}()
	if err := prepare(ctx, pair, dir, build); err != nil {
		return err
	}
	fmt.Printf("two clusters with DNS, manager and images are ready after %.0f s\n", time.Since(begin).Seconds())
	return do(ctx, dir, pair)
}

func prepare(ctx context.Context, pair *kind.Pair, dir string, build func(context.Context, string) ([]string, error)) error {
	images, err := build(ctx, dir)
	if err != nil {
		return err
	}
	dns, err := built.Module("e2e", "mcs", "coredns")
	if err != nil {
		return err
	}
	if err := kind.BuildImage(ctx, dir, dns, dnsImage); err != nil {
		return err
	}
	if err := kind.BuildManager(ctx, dir, ManagerImage); err != nil {
		return err
	}
	if err := pair.Load(ctx, append(images, dnsImage, ManagerImage)...); err != nil {
		return err
	}
	for _, c := range pair.Both() {
		for _, step := range []func() error{
			func() error { return setup.Storage(ctx, c) },
			func() error { return setup.CRDs(ctx, c) },
			func() error { return mcs.Install(ctx, c.Config) },
			func() error { return mcs.InstallDNS(ctx, c.Config, dnsImage) },
		} {
			if err := step(); err != nil {
				return fmt.Errorf("cluster %s: %w", c.Name, err)
			}
		}
	}
	east, west := pair.East, pair.West
	for _, step := range []func() error{
		func() error { return setup.Roles(ctx, west) },
		func() error { return setup.Manager(ctx, east, ManagerImage) },
		func() error { return setup.AwaitManager(ctx, east) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return mcs.Start(ctx, mcs.Member{Name: east.Name, Config: east.Config}, mcs.Member{Name: west.Name, Config: west.Config})
}

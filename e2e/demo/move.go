package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/sliceshift/sliceshift/e2e/auditor"
)

// asked is the option for the volumes with method copy, in both directions.
const asked = template + "=copy,image=sliceshift:demo,service=load-balancer"

// move is the move of the application from east to west.
type move struct {
	method, command string
	east, west      *side
	// url is where clients reach the application, wherever its replicas run.
	url string
	// held is true if the clusters stay, so that the way back can be tried.
	held bool
}

func (m move) run(ctx context.Context) error {
	headline(fmt.Sprintf("Deploying StatefulSet %s/%s to east: %d replicas that write, maxUnavailable 1", namespace, set, replicas))
	if err := m.deploy(ctx); err != nil {
		return err
	}
	copies := newCopies()
	watching, err := m.audit(ctx, copies)
	if err != nil {
		return err
	}
	if m.method == byCopy {
		defer copies.follow(ctx, m.west.kubelet, watching)()
	}
	args := []string{set, "-n", namespace, "--kubeconfig", m.east.Kubeconfig(), "--to-kubeconfig", m.west.Kubeconfig(), "--create-namespace", "--probe", m.url}
	shown := fmt.Sprintf("%s -n %s --to-context west", set, namespace)
	if m.method == byCopy {
		args, shown = append(args, "--volume", asked), shown+" \\\n     --volume "+asked
	} else {
		args = append(args, "--shared", template)
	}
	shown += " \\\n     --probe " + m.url
	for _, each := range []struct{ headline, verb string }{{"The plan", "plan"}, {"The move", "run"}} {
		headline(fmt.Sprintf("%s: kubectl migrate %s %s", each.headline, each.verb, shown))
		if err := show(ctx, append([]string{m.command, each.verb}, args...)...); err != nil {
			return err
		}
	}
	headline("West, after the move")
	if err := m.west.list(ctx); err != nil {
		return err
	}
	return m.prove(ctx, copies, watching)
}

// deploy deploys the application in east.
func (m move) deploy(ctx context.Context) error {
	home := 0
	if m.held && m.method == byCopy {
		home = replicas + spare // moved replicas keep their disks here
	}
	if err := m.east.provide(ctx, replicas, home); err != nil {
		return err
	}
	if err := m.west.provide(ctx, 0, replicas+spare); err != nil {
		return err
	}
	if err := application().Deploy(ctx, m.east.client); err != nil {
		return err
	}
	return m.east.list(ctx)
}

func (m move) audit(ctx context.Context, c *copies) (*auditor.Auditor, error) {
	options := auditor.Options{
		Source:      auditor.Side{Name: "east", Config: m.east.RESTConfig(), Namespace: namespace, Set: set},
		Destination: auditor.Side{Name: "west", Config: m.west.RESTConfig(), Namespace: namespace, Set: set},
		Budget:      1,
	}
	if m.method == byCopy {
		options.Copied, options.Content = []string{template}, c.compare
	}
	return auditor.Start(ctx, options)
}

// prove shows the moved objects and the auditor's verdict.
func (m move) prove(ctx context.Context, c *copies, watching *auditor.Auditor) error {
	headline("What each replica has in west")
	if err := m.table(ctx, c); err != nil {
		return err
	}
	headline("The auditor, who watched both clusters over connections of its own")
	verdict := watching.Finish(ctx)
	fmt.Println(verdict)
	if !verdict.OK() {
		return errors.New("the auditor does not agree")
	}
	return nil
}
